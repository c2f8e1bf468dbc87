// Fibers are runs of nonzeros that agree in all modes but one; slices share the index of one mode.
#include "experiments/driver/facts.hpp"

#include <algorithm>

#include "common/tensor/operations.hpp"

namespace retensor::driver {
namespace {

std::vector<Count> slice_counts(const Coo& tensor, int mode) {
  const auto at = static_cast<std::size_t>(mode);
  std::vector<Count> counts(tensor.dims[at]);
  for (const auto index : tensor.indices[at]) ++counts[index];
  return counts;
}

ModeFacts facts_of(Coo& tensor, int mode) {
  ModeFacts facts;
  sort_nonzeros(tensor, fiber_order(tensor.order(), mode));
  facts.fibers = fiber_starts(tensor, mode).size() - 1;
  if (facts.fibers > 0)
    facts.per_fiber = static_cast<double>(tensor.nnz()) / static_cast<double>(facts.fibers);
  const auto counts = slice_counts(tensor, mode);
  facts.slices = static_cast<Count>(
      std::count_if(counts.begin(), counts.end(), [](Count c) { return c > 0; }));
  facts.largest_slice = counts.empty() ? 0 : *std::max_element(counts.begin(), counts.end());
  facts.slice_gini = gini(counts);
  return facts;
}

}  // namespace

std::vector<ModeFacts> mode_facts(const Coo& tensor) {
  auto sorted = tensor;
  std::vector<ModeFacts> facts;
  for (int mode = 0; mode < tensor.order(); ++mode) facts.push_back(facts_of(sorted, mode));
  return facts;
}

double gini(std::vector<Count> counts) {
  // With ascending x_1 .. x_n: sum over i of (2 i - n - 1) x_i over n times the sum of x.
  std::sort(counts.begin(), counts.end());
  const auto n = static_cast<double>(counts.size());
  double total = 0, weighted = 0, i = 0;
  for (const auto count : counts) {
    ++i;
    total += static_cast<double>(count);
    weighted += (2 * i - n - 1) * static_cast<double>(count);
  }
  return total == 0 ? 0 : weighted / (n * total);
}

}  // namespace retensor::driver
