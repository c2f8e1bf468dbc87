// Stochastic Kronecker tensors (PASTA section IV.B.1; Leskovec et al., JMLR 11, 2010).
//
// The n-fold Kronecker product of the initiator gives each cell the product of n initiator weights,
// one per digit of its coordinates. A nonzero is drawn digit by digit, most significant first, as
// R-MAT does; that replaces the Bernoulli trial of every cell, which no large tensor allows, and
// agrees with it where cells are rarely drawn twice. Several digits are drawn at once from a table
// of the initiator's own Kronecker power.

#include <algorithm>
#include <bit>
#include <cmath>

#include "common/core/rng.hpp"
#include "common/generate/draws.hpp"
#include "common/generate/generators.hpp"
#include "common/generate/sampling.hpp"

namespace retensor {
namespace {

constexpr std::size_t kTableCells = 4096;  // 64 KiB of alias table stay in the second-level cache

// A Kronecker power of the initiator: where each cell lies, and a table to draw cells from.
struct Digits {
  Dims dims;
  std::vector<sampling::Coordinate> cells;
  AliasTable table;
};

std::vector<double> kronecker_product(const Dims& a_dims, const std::vector<double>& a,
                                      const Dims& b_dims, const std::vector<double>& b) {
  Dims dims = a_dims;
  for (std::size_t m = 0; m < dims.size(); ++m) dims[m] *= b_dims[m];
  std::vector<double> product(a.size() * b.size());
  for (std::size_t p = 0; p < product.size(); ++p) {
    const auto at = sampling::coordinate_at(dims, p);
    std::size_t in_a = 0, in_b = 0;
    for (std::size_t m = 0; m < dims.size(); ++m) {
      in_a = in_a * a_dims[m] + at[m] / b_dims[m];
      in_b = in_b * b_dims[m] + at[m] % b_dims[m];
    }
    product[p] = a[in_a] * b[in_b];
  }
  return product;
}

Digits digits(const KroneckerLaw& law, int levels) {
  Dims dims(law.initiator_dims.size(), 1);
  std::vector<double> weights{1};
  for (int level = 0; level < levels; ++level) {
    weights = kronecker_product(dims, weights, law.initiator_dims, law.initiator);
    for (std::size_t m = 0; m < dims.size(); ++m) dims[m] *= law.initiator_dims[m];
  }
  std::vector<sampling::Coordinate> cells(weights.size());
  for (std::size_t p = 0; p < cells.size(); ++p) cells[p] = sampling::coordinate_at(dims, p);
  return {dims, std::move(cells), AliasTable(weights)};
}

int products_needed(const Dims& dims, const Dims& base) {
  int products = 1;
  for (std::size_t m = 0; m < dims.size(); ++m) {
    int own = 0;
    for (Uint128 reach = 1; reach < dims[m]; reach *= base[m]) {
      if (base[m] < 2)
        throw input_error("mode {}: an initiator of length {} never reaches {}", m + 1, base[m],
                          dims[m]);
      ++own;
    }
    products = std::max(products, own);
  }
  return products;
}

void check_law(const Target& target, const KroneckerLaw& law) {
  if (law.initiator_dims.size() != target.dims.size())
    throw input_error("an initiator of order {} for a tensor of order {}",
                      law.initiator_dims.size(), target.dims.size());
  if (law.initiator.empty() || law.initiator.size() != checked_volume(law.initiator_dims))
    throw input_error("{} weights for an initiator of {} cells", law.initiator.size(),
                      checked_volume(law.initiator_dims));
}

}  // namespace

KroneckerLaw binary_initiator(int order, double skew, double clustering) {
  if (!(skew > 0 && skew < 1)) throw input_error("skew is not inside (0, 1)");
  if (!(clustering >= 0 && clustering <= 1)) throw input_error("clustering is not inside [0, 1]");
  KroneckerLaw law;
  law.initiator_dims.assign(static_cast<std::size_t>(order), 2);
  const std::size_t cells = std::size_t{1} << order;
  for (std::size_t cell = 0; cell < cells; ++cell) {
    const int upper_halves = std::popcount(cell);
    double weight =
        (1 - clustering) * std::pow(skew, order - upper_halves) * std::pow(1 - skew, upper_halves);
    if (cell == 0) weight += clustering * skew;
    if (cell == cells - 1) weight += clustering * (1 - skew);
    law.initiator.push_back(weight);
  }
  return law;
}

Coo kronecker(const Target& target, const KroneckerLaw& law) {
  check_law(target, law);
  const int products = products_needed(target.dims, law.initiator_dims);
  int levels = 1;  // initiator digits per draw
  for (std::size_t cells = law.initiator.size();
       levels < products && cells * law.initiator.size() <= kTableCells;
       cells *= law.initiator.size())
    ++levels;
  const Digits first = digits(law, (products - 1) % levels + 1), rest = digits(law, levels);
  const int draws = (products - 1) / levels + 1;
  const CounterRng rng(target.seed);
  return sampling::collect(target, [&](Count i, sampling::Coordinate& coordinate) {
    std::array<Uint128, kMaxOrder> at{};
    for (int d = 0; d < draws; ++d) {
      const Digits& power = d == 0 ? first : rest;
      const auto& cell = power.cells[power.table.pick(rng.bits(i * draws + d))];
      for (std::size_t m = 0; m < target.dims.size(); ++m) at[m] = at[m] * power.dims[m] + cell[m];
    }
    for (std::size_t m = 0; m < target.dims.size(); ++m) {
      if (at[m] >= target.dims[m]) return false;
      coordinate[m] = static_cast<Index>(at[m]);
    }
    return true;
  });
}

}  // namespace retensor
