// Banded matrices, and tensors whose frontal slices are banded alike: the first nnz images of a
// random permutation of all positions inside the band.
#include <fmt/format.h>

#include <algorithm>

#include "common/generate/generators.hpp"
#include "common/generate/permutation.hpp"
#include "common/generate/sampling.hpp"

namespace retensor {

namespace {

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

}  // namespace

Coo banded(const Target& target, const BandedLaw& law) {
  if (target.dims.size() < 2) throw InputError("a band needs two modes");
  const Band band(target.dims[0], target.dims[1], law);
  const Dims free(target.dims.begin() + 2, target.dims.end());
  const Uint128 slices = sampling::volume(free);
  if (target.nnz > band.size() * slices)
    throw InputError(fmt::format("{} nonzeros are more than the band has positions", target.nnz));
  const RandomPermutation place(std::max(band.size() * slices, Uint128{1}), target.seed, 0);
  return sampling::collect(target, [&](Count i, sampling::Coordinate& coordinate) {
    const Uint128 position = place(i);
    const auto [row, column] = band.locate(position / slices);
    const auto rest = sampling::coordinate_at(free, position % slices);
    coordinate[0] = static_cast<Index>(row);
    coordinate[1] = static_cast<Index>(column);
    std::copy_n(rest.begin(), free.size(), coordinate.begin() + 2);
    return true;
  });
}

}  // namespace retensor
