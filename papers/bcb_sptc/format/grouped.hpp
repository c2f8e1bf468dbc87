// A contraction's result as a matrix of cells, stored or not, cut into ranges of rows
// (format/grouped_device.cuh).
#pragma once

#include <cstddef>

#include "common/core/types.hpp"
#include "common/tensor/einsum.hpp"

namespace retensor::bcb_sptc {

/// Sums that a thread block keeps in shared memory: 64 KiB, two blocks and more a multiprocessor.
inline constexpr unsigned kSumWords = 1 << 14;
/// The most cells of a result that is one range.
inline constexpr Count kMostCells = 1 << 20;
/// The most columns of one that is cut: a range has two rows and more.
inline constexpr Count kMostColumns = 1 << 13;
/// The most rows of one that is cut, and the most bits of a range's number and a contracted
/// coordinate.
inline constexpr Count kMostRows = 1 << 30;
inline constexpr int kMostKeyBits = 64;

/// Rows and columns are the free coordinates of x and y, whether or not they have nonzeros.
struct CellRanges {
  CellRanges(const Contraction& modes, const Dims& x, const Dims& y);

  bool are_few() const { return rows <= kMostCells / columns; }
  bool are_taken() const { return are_few() || (columns <= kMostColumns && rows <= kMostRows); }

  Count rows, columns;  ///< at most 2^64 - 1
  Count rows_of_range, ranges;
  int contracted_bits = 0;
  int sorted_bits = 0;  ///< of a range's number and a contracted coordinate
};

/// Copies with all threads.
void copy_in_parallel(void* to, const void* from, std::size_t bytes);

}  // namespace retensor::bcb_sptc
