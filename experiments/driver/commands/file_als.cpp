#include "experiments/driver/commands/file_als.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <span>
#include <utility>

#include "common/core/message.hpp"

namespace retensor::driver {
namespace {

ProblemSpec of_passes(ProblemSpec spec) {
  spec.operation = Operation::mttkrp_all;
  return spec;
}

std::shared_ptr<const Coo> outline_of(const std::string& path, DType type) {
  return std::make_shared<const Coo>(read_cache_facts(path).dims, type);
}

std::shared_ptr<const std::vector<Matrix>> no_factors(const Dims& dims, const ProblemSpec& spec) {
  auto factors = std::make_shared<std::vector<Matrix>>();
  for (const auto length : dims) factors->emplace_back(length, spec.rank, spec.dtype);
  return factors;
}

std::map<std::string, ParamValue> with_file(const Method& method, const std::string& path,
                                            std::map<std::string, ParamValue> given) {
  if (!reads_files(method))
    throw input_error("{}: found no parameter `file`, which names where to read the nonzeros",
                      method.id());
  given["file"] = path;
  return given;
}

}  // namespace

bool reads_files(const Method& method) {
  const auto schema = method.params();
  return std::ranges::any_of(schema.specs(), [](const auto& p) { return p.name == "file"; });
}

double norm_of(const MappedCache& file) {
  double square = 0;
  dispatch(file.facts().dtype, [&]<class T>() {
    const auto* const values = file.values();
#pragma omp parallel for schedule(static) reduction(+ : square)
    for (Count x = 0; x < file.facts().nnz; ++x) {
      T value;
      std::memcpy(&value, values + x * sizeof value, sizeof value);
      square += static_cast<double>(value) * static_cast<double>(value);
    }
  });
  return std::sqrt(square);
}

FileAls::FileAls(const std::string& path, const ProblemSpec& spec, const Method& mttkrp,
                 std::map<std::string, ParamValue> given)
    : spec_(spec),
      outline_(outline_of(path, spec.dtype)),
      passes_(Problem::with_factors(of_passes(spec), outline_, no_factors(outline_->dims, spec))),
      mttkrp_(cpd::prepare_or_refuse(mttkrp, passes_, with_file(mttkrp, path, std::move(given)))),
      sweeps_(cpd::host_sweeps(passes_, *mttkrp_, norm_of(MappedCache(path)))) {}

void FileAls::restart(cpd::Start law, std::uint64_t seed, StageTimer& timer) {
  if (law == cpd::Start::nvecs)
    throw input_error("--start: found nvecs, expected one that does not take the nonzeros");
  fit_.clear();
  sweeps_->begin(cpd::first_factors(law, *outline_, spec_.rank, seed), nullptr);
  if (law == cpd::Start::spread) sweeps_->spread(timer);
}

void FileAls::sweep(StageTimer& timer) {
  fit_.push_back(0);
  sweeps_->run(timer, std::span(fit_).last(1));
}

bool FileAls::finished() const {
  return cpd::converged(fit_, spec_.tolerance) ||
         std::cmp_greater_equal(fit_.size(), spec_.max_sweeps);
}

KruskalModel FileAls::model() const {
  KruskalModel model{std::vector<double>(spec_.rank), {}, fit_};
  sweeps_->fetch(model);
  return model;
}

}  // namespace retensor::driver
