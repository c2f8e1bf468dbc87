// Sizes that tell whether a contraction's nonzeros can be grouped by contracted coordinate for a
// result of few cells (format/grouped_device.cuh).
#pragma once

#include "common/core/types.hpp"
#include "common/tensor/einsum.hpp"

namespace retensor::bcb_sptc {

/// Cells of a result, stored or not; 2^64 - 1 where they are more.
Count result_cells(const Contraction& modes, const Dims& x, const Dims& y);
/// Bits of the contracted coordinate.
int bits_of_contracted(const Contraction& modes, const Dims& x);

/// The most cells of a result, and the most bits of a contracted coordinate.
inline constexpr Count kMostCells = 1 << 20;
inline constexpr int kMostKeyBits = 64;

}  // namespace retensor::bcb_sptc
