#include "common/distribute/als.hpp"

#include <cmath>
#include <span>

#include "common/decompose/als.hpp"
#include "common/decompose/normal_equations.hpp"

namespace retensor::distribute {
namespace {

ProblemSpec of_passes(ProblemSpec spec) {
  spec.operation = Operation::mttkrp_all;
  return spec;
}

std::shared_ptr<const std::vector<Matrix>> empty_factors(const Coo& x, const ProblemSpec& spec) {
  std::vector<Matrix> factors;
  for (const auto length : x.dims) factors.emplace_back(length, spec.rank, spec.dtype);
  return std::make_shared<const std::vector<Matrix>>(std::move(factors));
}

double norm_over_all(communicate::Communicator& processes, const Coo& mine) {
  const double own = cpd::norm_of(mine.values);
  double square = own * own;
  processes.all_reduce(std::span(&square, 1));
  return std::sqrt(square);
}

std::unique_ptr<cpd::Sweeps> sweeps_of(const Problem& passes, Prepared& mttkrp, double norm) {
  if (auto on_device = cpd::device_sweeps(passes, mttkrp, norm)) return on_device;
  return cpd::host_sweeps(passes, mttkrp, norm);
}

}  // namespace

Als::Als(communicate::Communicator& processes, const Coo& mine, Rule rule, ProblemSpec spec,
         const Method& method, const std::map<std::string, ParamValue>& given,
         communicate::Communicator* devices)
    : spec_(spec),
      share_(share_out(processes, mine, rule, cost_of_mttkrp(mine.order(), spec.rank, spec.dtype))),
      factors_(empty_factors(mine, spec)),
      passes_problem_(Problem::with_factors(
          of_passes(spec), {std::shared_ptr<const Coo>(), &share_.tensors.front()}, factors_)),
      mttkrp_(passes_over(devices != nullptr ? *devices : processes, share_, of_passes(spec),
                          factors_, method, given)),
      sweeps_(sweeps_of(passes_problem_, *mttkrp_, norm_over_all(processes, mine))) {}

void Als::begin(const KruskalModel& model) {
  fit_ = model.fit;
  sweeps_->begin(model.factors, model.fit.empty() ? nullptr : &model.weights);
}

void Als::sweep(StageTimer& timer) {
  fit_.push_back(0);
  sweeps_->run(timer, std::span(fit_).last(1));
}

KruskalModel Als::model() const {
  KruskalModel model{std::vector<double>(spec_.rank), {}, fit_};
  sweeps_->fetch(model);
  return model;
}

bool Als::finished() const {
  return cpd::converged(fit_, spec_.tolerance) ||
         std::cmp_greater_equal(fit_.size(), spec_.max_sweeps);
}

}  // namespace retensor::distribute
