#include "common/distribute/local_runs.hpp"

#include <fmt/format.h>

#include "common/core/error.hpp"
#include "common/decompose/als.hpp"

namespace retensor::distribute {

LocalRuns::LocalRuns(const Share& share, const ProblemSpec& spec,
                     const std::shared_ptr<const std::vector<Matrix>>& factors,
                     const Method& method, const std::map<std::string, ParamValue>& given) {
  for (std::size_t m = 0; m < share.tensors.size(); ++m) {
    auto of_tensor = spec;
    if (share.tensors.size() > 1) {
      of_tensor.operation = Operation::mttkrp;
      of_tensor.mode = static_cast<int>(m);
    }
    problems_.push_back(std::make_unique<Problem>(Problem::with_factors(
        of_tensor, {std::shared_ptr<const Coo>(), &share.tensors[m]}, factors)));
    prepared_.push_back(cpd::prepare_or_refuse(method, *problems_.back(), given));
  }
  if (prepared_.size() == 1 && prepared_[0]->passes() == nullptr)
    throw InputError(fmt::format("{} does not run MTTKRP a mode at a time", method.id()));
}

void LocalRuns::run(int mode, StageTimer& timer) {
  auto& own = of_mode(mode);
  if (prepared_.size() == 1) return own.passes()->run_mode(mode, timer);
  own.run(timer);
}

Matrix LocalRuns::result(int mode) {
  auto& own = of_mode(mode);
  if (prepared_.size() == 1) return own.passes()->mode_result(mode);
  return std::get<Matrix>(own.result());
}

}  // namespace retensor::distribute
