// Pre-processing that the backends share (PASTA section III.B: everything but MTTKRP allocates its
// result, with indices, before the timed kernel).
#pragma once

#include <string>
#include <vector>

#include "common/formats/hicoo.hpp"
#include "common/measure/problem.hpp"
#include "common/tensor/coo.hpp"
#include "papers/pasta/kernels.hpp"

namespace retensor::pasta {

/// Throws InputError for anything but add, sub, mul and div.
Arithmetic arithmetic(const std::string& variant);

/// Equal shape and equal coordinates in equal order: the case that the paper analyses.
bool same_pattern(const Coo& x, const Coo& y);

/// The predicted result of an element-wise operation, values still zero. For equal patterns in
/// equal order the maps stay empty; else z's entry i combines x[from_x[i]] and y[from_y[i]].
struct TewPattern {
  Coo z;
  std::vector<Count> from_x, from_y;
  bool equal() const { return from_x.empty() && from_y.empty(); }
};

/// The union of the patterns for add and sub, the intersection for mul, x's pattern for div, where
/// an absent denominator throws InputError with its coordinate. Tensors of different shape are
/// combined in the smallest shape that holds both.
TewPattern predict_pattern(const Coo& x, const Coo& y, Arithmetic op);

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
