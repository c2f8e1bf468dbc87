// Fibers of a mode and the results of products with them (PASTA section III.B: TTV and TTM allocate
// their results, with indices, before the timed kernel).
#pragma once

#include <vector>

#include "common/formats/hicoo.hpp"
#include "common/tensor/coo.hpp"

namespace retensor::pasta {

/// Coordinates of the fibers that begin at `start` in a tensor whose fibers of `mode` are
/// contiguous: per other mode, one index per fiber.
using FiberCoordinates = std::vector<std::vector<Index>>;
FiberCoordinates fiber_coordinates(const Coo& x, int mode, const std::vector<Count>& start);

/// A tensor sorted so that fibers of `mode` are contiguous, in the arrays that TTV and TTM read.
struct FiberArrays {
  std::vector<Count> start;  ///< fibers + 1
  std::vector<Index> index;  ///< of each nonzero in `mode`
  Values value;
  FiberCoordinates coordinates;
  bool was_sorted = false;
  Count fibers() const { return start.size() - 1; }
  Count bytes() const;
};
FiberArrays fiber_arrays(const Coo& x, int mode);
/// The same of gHiCOO with one plain mode, whose fibers are contiguous inside blocks.
FiberArrays hicoo_fiber_arrays(const Hicoo& x);
/// Their starts: entries of a block with equal element indices are a fiber.
std::vector<Count> hicoo_fiber_starts(const Hicoo& x);
/// Marks the last nonzero of each fiber by 1, the others by 0.
std::vector<std::uint8_t> fiber_ends(const std::vector<Count>& start);

/// The sparse-dense property: TTV's result in coordinates, TTM's with `mode` dense of length
/// `rank`.
Coo ttv_result(Dims dims, int mode, FiberCoordinates fibers, Values values);
SemiSparseCoo ttm_result(Dims dims, int mode, std::uint64_t rank, FiberCoordinates fibers,
                         Values values);

}  // namespace retensor::pasta
