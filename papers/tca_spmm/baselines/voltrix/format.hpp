// S in windows of 16 rows, of which only columns with a nonzero are stored, eight a block, with a
// bit a cell (the bit-wise compressed format of Voltrix-SpMM).
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "common/core/types.hpp"
#include "common/tensor/csr.hpp"

namespace retensor::voltrix {

inline constexpr unsigned kWindowRows = 16, kBlockColumns = 8;

struct Windows {
  std::vector<Count> block_start;  ///< by window, the last is the number of blocks
  std::vector<Index> order;        ///< windows, those of most blocks first
  /// Of a block, ascending in a window; the last block of a window is filled up by its last column.
  std::vector<std::array<Index, kBlockColumns>> columns;
  /// Of a block: bit 8 (row % 4) + column of word row / 4 where there is a nonzero.
  std::vector<std::array<std::uint32_t, kWindowRows / 4>> bits;
  std::vector<Count> value_start;     ///< by block
  std::vector<std::uint16_t> values;  ///< of a block by row, then column, in binary16

  Count windows() const { return order.size(); }
};

/// `matrix` in single precision, columns of a row ascending.
Windows to_windows(const Csr& matrix);

}  // namespace retensor::voltrix
