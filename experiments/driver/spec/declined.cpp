#include "experiments/driver/spec/declined.hpp"

#include <filesystem>
#include <map>
#include <memory>

#include "common/core/error.hpp"
#include "common/run/all_modes.hpp"
#include "experiments/driver/spec/auto_method.hpp"

namespace retensor::driver {
namespace {

/// Nonzeros up to which a tensor is read: some methods count its blocks for every case.
constexpr Count kSmall = 1'000'000;

std::shared_ptr<const Coo> known_part(const Dataset& d, const DatasetRegistry& datasets,
                                      const std::string& cache_dir) {
  if (d.nnz <= kSmall && datasets.obstacle(d, cache_dir).empty() &&
      std::filesystem::exists(datasets.cache_file(d, cache_dir)))
    return datasets.obtain(d, cache_dir);
  return std::make_shared<const Coo>(d.dims, DType::f32);
}

/// Empty where the method takes the case, or fails over the question: then `run` says how.
std::string declined(const Case& c, const Method& method, std::shared_ptr<const Coo> tensor,
                     Count nonzeros) {
  try {
    const auto problem = Problem::outline(c.problem, std::move(tensor), nonzeros);
    return supports(method, problem, method.params().resolve(c.params)).reason;
  } catch (const Error&) {
    return "";
  }
}

}  // namespace

std::size_t skip_declined(Plan& plan, const Registry& methods, const DatasetRegistry& datasets,
                          const std::string& cache_dir) {
  std::map<std::string, std::shared_ptr<const Coo>> tensors;
  std::vector<Case> kept;
  for (auto& c : plan.cases) {
    auto& tensor = tensors[c.dataset];
    const auto& dataset = datasets.find(c.dataset);
    if (!tensor) tensor = known_part(dataset, datasets, cache_dir);
    auto reason = declined(c, method_of_spec(methods, c.method), tensor, dataset.nnz);
    if (reason.empty())
      kept.push_back(std::move(c));
    else
      plan.skips.push_back({std::move(c), std::move(reason)});
  }
  const auto count = plan.cases.size() - kept.size();
  plan.cases = std::move(kept);
  return count;
}

}  // namespace retensor::driver
