// S in windows of eight rows, of which only columns with a nonzero are stored (FlashSparse's
// ME-BCRS with vectors of 8 x 1).
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "common/core/types.hpp"
#include "common/tensor/csr.hpp"

namespace retensor::flashsparse {

inline constexpr unsigned kWindowRows = 8, kBlockVectors = 8, kLanes = 32;

struct Windows {
  std::vector<Count> block_start;  ///< by window, the last is the number of blocks
  /// Of the block's vectors, ascending in a window; the last block of a window is filled up by its
  /// last column with zeros.
  std::vector<std::array<Index, kBlockVectors>> columns;
  /// Of a block: lane 4 g + t has row g of vectors 2 t (low half) and 2 t + 1, in binary16.
  std::vector<std::array<std::uint32_t, kLanes>> values;
  Count vectors = 0;  ///< with a nonzero

  Count windows() const { return block_start.size() - 1; }
};

/// `matrix` in single precision, columns of a row ascending.
Windows to_windows(const Csr& matrix);

}  // namespace retensor::flashsparse
