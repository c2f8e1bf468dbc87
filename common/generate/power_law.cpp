// Power-law graphs stacked to a tensor (PASTA section IV.B.2, after the biased power-law generator
// of FireHose, Anderson and Plimpton 2015).
//
// Vertices of every sparse mode are drawn from a power law over their ranks, independently of each
// other and the same for all slices; the slices take the draws in turn, so that each of them is
// such a graph of about equal size. FireHose's bias concerns the values of its stream, which a
// tensor takes from its value model instead.

#include <algorithm>
#include <cmath>

#include "common/core/rng.hpp"
#include "common/generate/draws.hpp"
#include "common/generate/generators.hpp"
#include "common/generate/sampling.hpp"

namespace retensor {
namespace {

constexpr std::uint64_t kAttempts = 16;  // counters kept for the rejections of one draw
constexpr std::uint64_t kScatterStream = 256;
constexpr std::uint64_t kGroupStream = 512;

// One sparse mode: the law of its ranks and where the ranks lie.
struct SparseMode {
  std::size_t mode;
  double exponent;
  Zipf law;
  CounterRng rng, in_group;
  std::uint64_t length, group, run, runs;
  RandomPermutation place;

  SparseMode(const Target& target, const PowerLaw& power, std::size_t m)
      : mode(m),
        exponent(power.exponents[power.exponents.size() == 1 ? 0 : m]),
        law(target.dims[m], exponent),
        rng(target.seed, m),
        in_group(target.seed, kGroupStream + m),
        length(target.dims[m]),
        group(power.group),
        run(std::min(power.run, target.dims[m])),
        runs(target.dims[m] / run),
        place(runs, target.seed, kScatterStream + m) {}

  Index index_of(std::uint64_t rank) const {
    if (rank >= runs * run) return static_cast<Index>(rank);  // a last run that is shorter
    return static_cast<Index>(place(rank / run) * run + rank % run);
  }
  Index draw(Count i) const {
    const Count first = i - i % group;
    const std::uint64_t rank = law.draw(rng, first * kAttempts) - 1;
    return index_of(i == first ? rank : neighbour(rank, i));
  }
  /// A rank of the same run with the law's odds among its ranks: the first draw of the group has
  /// them, so they stand when a uniform choice is rejected in its favour.
  std::uint64_t neighbour(std::uint64_t rank, Count i) const {
    const std::uint64_t start = rank - rank % run;
    const std::uint64_t step = in_group.below(2 * i, std::min(run, length - start));
    const double ratio = static_cast<double>(step) / static_cast<double>(start + 1);
    const double odds = std::exp(-exponent * std::log1p(ratio));
    return in_group.uniform(2 * i + 1) < odds ? start + step : rank;
  }
};

void check_law(const Target& target, const PowerLaw& law) {
  if (law.exponents.size() != 1 && law.exponents.size() != target.dims.size())
    throw input_error("{} exponents for {} modes, expected one or one for each",
                      law.exponents.size(), target.dims.size());
  if (law.run == 0 || law.group == 0) throw input_error("a run or a group of 0");
  std::vector<bool> seen(target.dims.size(), false);
  for (const int m : law.slice_modes) {
    if (m < 0 || m >= static_cast<int>(seen.size()) || seen[m])
      throw input_error("slice mode {} is repeated or no mode of the tensor", m + 1);
    seen[m] = true;
  }
}

}  // namespace

Index power_law_index(const Target& target, const PowerLaw& law, int mode, std::uint64_t rank) {
  check_law(target, law);
  const SparseMode sparse(target, law, mode);
  if (rank >= target.dims.at(sparse.mode)) throw input_error("the rank is beyond the mode");
  return sparse.index_of(rank);
}

Coo power_law(const Target& target, const PowerLaw& law) {
  check_law(target, law);
  if (target.nnz == 0) return uniform(target.dims, 0, target.seed, target.dtype);
  std::vector<SparseMode> sparse;
  for (std::size_t m = 0; m < target.dims.size(); ++m)
    if (std::find(law.slice_modes.begin(), law.slice_modes.end(), static_cast<int>(m)) ==
        law.slice_modes.end())
      sparse.emplace_back(target, law, m);
  return sampling::collect(target, [&](Count i, sampling::Coordinate& coordinate) {
    Count turn = i;
    for (const int m : law.slice_modes) {
      coordinate[m] = static_cast<Index>(turn % target.dims[m]);
      turn /= target.dims[m];
    }
    for (const SparseMode& mode : sparse) coordinate[mode.mode] = mode.draw(i);
    return true;
  });
}

}  // namespace retensor
