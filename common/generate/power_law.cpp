// Power-law graphs stacked to a tensor (PASTA section IV.B.2, after the biased power-law generator
// of FireHose, Anderson and Plimpton 2015).
//
// Vertices of every sparse mode are drawn from a power law over their ranks, independently of each
// other and the same for all slices; the slices take the draws in turn, so that each of them is
// such a graph of about equal size. FireHose's bias concerns the values of its stream, which a
// tensor takes from its value model instead.
#include <fmt/format.h>

#include <algorithm>

#include "common/core/rng.hpp"
#include "common/generate/generators.hpp"
#include "common/generate/permutation.hpp"
#include "common/generate/sampling.hpp"
#include "common/generate/zipf.hpp"

namespace retensor {

namespace {

constexpr std::uint64_t kAttempts = 16;  // counters kept for the rejections of one draw
constexpr std::uint64_t kScatterStream = 256;

// One sparse mode: the law of its ranks and where the ranks lie.
struct SparseMode {
  std::size_t mode;
  Zipf law;
  CounterRng rng;
  RandomPermutation place;
  bool scatter;

  SparseMode(const Target& target, const PowerLaw& power, std::size_t m)
      : mode(m),
        law(target.dims[m], power.exponent),
        rng(target.seed, m),
        place(target.dims[m], target.seed, kScatterStream + m),
        scatter(power.scatter) {}

  Index index_of(std::uint64_t rank) const {
    return static_cast<Index>(scatter ? place(rank) : Uint128{rank});
  }
  Index draw(Count i) const { return index_of(law.draw(rng, i * kAttempts) - 1); }
};

void check_slices(const Target& target, const PowerLaw& law) {
  std::vector<bool> seen(target.dims.size(), false);
  for (const int m : law.slice_modes) {
    if (m < 0 || m >= static_cast<int>(seen.size()) || seen[static_cast<std::size_t>(m)])
      throw InputError(fmt::format("slice mode {} is repeated or no mode of the tensor", m + 1));
    seen[static_cast<std::size_t>(m)] = true;
  }
}

}  // namespace

Index power_law_index(const Target& target, const PowerLaw& law, int mode, std::uint64_t rank) {
  const SparseMode sparse(target, law, static_cast<std::size_t>(mode));
  if (rank >= target.dims.at(sparse.mode)) throw InputError("the rank is beyond the mode");
  return sparse.index_of(rank);
}

Coo power_law(const Target& target, const PowerLaw& law) {
  check_slices(target, law);
  if (target.nnz == 0) return uniform(target.dims, 0, target.seed, target.dtype);
  std::vector<SparseMode> sparse;
  for (std::size_t m = 0; m < target.dims.size(); ++m)
    if (std::find(law.slice_modes.begin(), law.slice_modes.end(), static_cast<int>(m)) ==
        law.slice_modes.end())
      sparse.emplace_back(target, law, m);
  return sampling::collect(target, [&](Count i, sampling::Coordinate& coordinate) {
    Count turn = i;
    for (const int m : law.slice_modes) {
      const std::uint64_t length = target.dims[static_cast<std::size_t>(m)];
      coordinate[static_cast<std::size_t>(m)] = static_cast<Index>(turn % length);
      turn /= length;
    }
    for (const SparseMode& mode : sparse) coordinate[mode.mode] = mode.draw(i);
    return true;
  });
}

}  // namespace retensor
