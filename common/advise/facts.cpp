// Fibers are runs of nonzeros that agree in all modes but one, slices share the index of one mode,
// tiles are the cells of a grid over all modes.
#include "common/advise/facts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <nlohmann/json.hpp>
#include <numeric>

#include "common/core/message.hpp"
#include "common/tensor/keys.hpp"
#include "common/tensor/operations.hpp"

namespace retensor {
namespace {

/// Nonzeros of every non-empty slice.
std::vector<Count> slice_counts(const std::vector<Index>& mode) {
  std::vector<std::uint64_t> indices(mode.begin(), mode.end());
  sort_keys(indices);
  std::vector<Count> counts;
  for (Count x = 0; x < indices.size(); ++x) {
    if (x == 0 || indices[x - 1] != indices[x]) counts.push_back(0);
    ++counts.back();
  }
  return counts;
}

double share(Count nnz, Count of) {
  return of == 0 ? 0 : static_cast<double>(nnz) / static_cast<double>(of);
}

ModeFacts facts_of(const Coo& tensor, int mode) {
  ModeFacts facts;
  facts.fibers = fiber_count(tensor, mode);
  facts.per_fiber = share(tensor.nnz(), facts.fibers);
  auto counts = slice_counts(tensor.indices[static_cast<std::size_t>(mode)]);
  facts.slices = counts.size();
  facts.largest_slice = counts.empty() ? 0 : *std::max_element(counts.begin(), counts.end());
  facts.slice_gini =
      gini(std::move(counts), tensor.dims[static_cast<std::size_t>(mode)] - facts.slices);
  return facts;
}

}  // namespace

std::vector<ModeFacts> mode_facts(const Coo& tensor) {
  std::vector<ModeFacts> facts;
  for (int mode = 0; mode < tensor.order(); ++mode) facts.push_back(facts_of(tensor, mode));
  return facts;
}

Count tile_count(const Coo& tensor, Count edge) {
  if (!std::has_single_bit(edge)) throw logic_error("tiles of edge {}: no power of two", edge);
  return distinct_coordinates(tensor, natural_order(tensor.order()), std::countr_zero(edge));
}

double gini(std::vector<Count> counts, Count zeros) {
  // With ascending x_1 .. x_n: sum over i of (2 i - n - 1) x_i over n times the sum of x.
  sort_keys(counts);
  const auto n = static_cast<double>(counts.size() + zeros);
  double total = 0, weighted = 0, i = static_cast<double>(zeros);
  for (const auto count : counts) {
    ++i;
    total += static_cast<double>(count);
    weighted += (2 * i - n - 1) * static_cast<double>(count);
  }
  return total == 0 ? 0 : weighted / (n * total);
}

nlohmann::json tensor_facts(const Coo& tensor) {
  nlohmann::json facts;
  for (const auto& mode : mode_facts(tensor)) {
    facts["fibers"].push_back(mode.fibers);
    facts["per_fiber"].push_back(mode.per_fiber);
    facts["slices"].push_back(mode.slices);
    facts["largest_slice"].push_back(mode.largest_slice);
    facts["slice_gini"].push_back(mode.slice_gini);
  }
  for (const Count edge : {8, 16}) {
    const auto tiles = tile_count(tensor, edge);
    facts[fmt::format("tile{}", edge)] = {{"tiles", tiles},
                                          {"per_tile", share(tensor.nnz(), tiles)}};
  }
  return facts;
}

double cells_in(const Dims& dims) {
  return std::accumulate(dims.begin(), dims.end(), 1.0, [](double cells, auto length) {
    return cells * static_cast<double>(length);
  });
}

Count factor_bytes(const ProblemSpec& problem, const Dims& dims) {
  const auto all = std::accumulate(dims.begin(), dims.end(), Count{0});
  const auto mode = static_cast<std::size_t>(problem.mode);
  const auto elements = [&]() -> Count {
    switch (problem.operation) {
      case Operation::mttkrp:
      case Operation::mttkrp_all:
      case Operation::cpd:
        return all * problem.rank;
      case Operation::ttm:
        return dims.at(mode) * problem.rank;
      case Operation::spmm:
        return dims.at(1) * problem.rank;
      case Operation::ttm_chain: {
        if (dims.size() < 2) return 0;
        const auto lowest = dims.at(mode == 0 ? 1 : 0);
        const auto rank2 = problem.rank2 == 0 ? problem.rank : problem.rank2;
        return lowest * problem.rank + (all - lowest - dims.at(mode)) * rank2;
      }
      default:
        return 0;
    }
  };
  return elements() * size_of(problem.dtype);
}

}  // namespace retensor
