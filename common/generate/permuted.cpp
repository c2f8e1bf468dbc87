// Nonzeros that are uniform in a region: the first nnz images of a pseudo-random permutation of all
// its positions, so that no coordinate repeats and a dense region costs no more than a sparse one.
// The regions are the whole tensor, the band of two modes, and diagonal blocks.

#include <algorithm>

#include "common/generate/draws.hpp"
#include "common/generate/generators.hpp"
#include "common/generate/sampling.hpp"

namespace retensor {
namespace {

using sampling::Coordinate;

/// coordinate(p) is that of the region's position p, below `positions`.
template <class ToCoordinate>
Coo in_region(const Target& target, const char* region, Uint128 positions,
              const ToCoordinate& coordinate) {
  if (target.nnz > positions) throw input_error("{} nonzeros are more than {}", target.nnz, region);
  const RandomPermutation place(std::max(positions, Uint128{1}), target.seed, 0);
  return sampling::collect(target, [&](Count i, Coordinate& at) {
    at = coordinate(place(i));
    return true;
  });
}

// The positions of the band, row after row; counts are closed forms, so that no table of rows is
// needed.
class Band {
 public:
  Band(std::uint64_t rows, std::uint64_t cols, const BandedLaw& law)
      : cols_(cols), lower_(law.lower), upper_(law.upper) {
    // Rows from cols + lower on lie wholly below the band.
    rows_ = lower_ > rows ? rows : std::min(rows, cols + lower_);
  }

  Uint128 size() const { return before(rows_); }
  std::uint64_t first_column(std::uint64_t row) const { return row > lower_ ? row - lower_ : 0; }

  /// Positions in the rows before `row`.
  Uint128 before(std::uint64_t row) const {
    const std::uint64_t reach = cols_ > upper_ ? cols_ - upper_ - 1 : 0;
    const Uint128 growing = std::min(row, reach);  // rows whose end is not cut by the last column
    const Uint128 ends = growing * (growing + 1) / 2 + growing * upper_ + (row - growing) * cols_;
    const Uint128 cut = row > lower_ ? row - lower_ - 1 : 0;  // rows that begin after column 0
    return ends - cut * (cut + 1) / 2;
  }

  std::pair<std::uint64_t, std::uint64_t> locate(Uint128 position) const {
    std::uint64_t low = 0, high = rows_;
    while (high - low > 1) {
      const std::uint64_t middle = low + (high - low) / 2;
      (before(middle) <= position ? low : high) = middle;
    }
    return {low, first_column(low) + static_cast<std::uint64_t>(position - before(low))};
  }

 private:
  std::uint64_t rows_ = 0, cols_, lower_, upper_;
};

std::uint64_t first_index(std::uint64_t length, std::uint64_t block, std::uint64_t blocks) {
  return static_cast<std::uint64_t>(static_cast<Uint128>(length) * block / blocks);
}

Dims block_dims(const Dims& dims, std::uint64_t block, std::uint64_t blocks) {
  Dims lengths;
  for (const std::uint64_t length : dims)
    lengths.push_back(first_index(length, block + 1, blocks) - first_index(length, block, blocks));
  return lengths;
}

}  // namespace

Coo uniform(const Dims& dims, Count nnz, std::uint64_t seed, DType dtype, ValueModel values) {
  return in_region({dims, nnz, seed, dtype, values}, "the tensor has coordinates",
                   sampling::volume(dims),
                   [&](Uint128 p) { return sampling::coordinate_at(dims, p); });
}

Coo banded(const Target& target, const BandedLaw& law) {
  if (target.dims.size() < 2) throw input_error("a band needs two modes");
  const Band band(target.dims[0], target.dims[1], law);
  const Dims free(target.dims.begin() + 2, target.dims.end());
  const Uint128 slices = sampling::volume(free);
  return in_region(target, "the band has positions", band.size() * slices, [&](Uint128 p) {
    const auto [row, column] = band.locate(p / slices);
    const auto rest = sampling::coordinate_at(free, p % slices);
    Coordinate at{static_cast<Index>(row), static_cast<Index>(column)};
    std::copy_n(rest.begin(), free.size(), at.begin() + 2);
    return at;
  });
}

Coo block_diagonal(const Target& target, const BlockLaw& law) {
  for (const std::uint64_t length : target.dims)
    if (law.blocks == 0 || law.blocks > length)
      throw input_error("{} blocks along a mode of length {}", law.blocks, length);
  std::vector<Uint128> starts{0};
  for (std::uint64_t b = 0; b < law.blocks; ++b)
    starts.push_back(starts.back() + sampling::volume(block_dims(target.dims, b, law.blocks)));
  return in_region(target, "the blocks have positions", starts.back(), [&](Uint128 p) {
    const auto block = static_cast<std::uint64_t>(
        std::upper_bound(starts.begin(), starts.end(), p) - starts.begin() - 1);
    auto at =
        sampling::coordinate_at(block_dims(target.dims, block, law.blocks), p - starts[block]);
    for (std::size_t m = 0; m < target.dims.size(); ++m)
      at[m] += static_cast<Index>(first_index(target.dims[m], block, law.blocks));
    return at;
  });
}

}  // namespace retensor
