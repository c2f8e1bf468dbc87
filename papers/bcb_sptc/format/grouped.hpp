// A contraction's result as a matrix of cells, cut into ranges of rows that fit into shared memory
// (format/grouped_device.cuh).
#pragma once

#include <cstddef>

#include "common/core/types.hpp"
#include "common/tensor/einsum.hpp"

namespace retensor::bcb_sptc {

/// Words of shared memory for the sums of a range: two thread blocks a multiprocessor.
inline constexpr unsigned kSumWords = 1 << 14;
/// The most columns of a result: what every chip has room for.
inline constexpr Count kMostColumns = 24 << 10;
/// The most cells: beyond, clearing them takes longer than most contractions.
inline constexpr Count kMostCells = 1ULL << 36;
/// The most bits of a contracted coordinate and a range's number.
inline constexpr int kMostKeyBits = 64;

/// Rows and columns are the free coordinates of x and y, whether or not they have nonzeros.
struct CellRanges {
  CellRanges(const Contraction& modes, const Dims& x, const Dims& y);

  Count rows, columns;  ///< at most 2^64 - 1
  Count rows_of_range = 1, ranges = 0;
  int contracted_bits = 0;
  int sorted_bits = 0;  ///< of a range's number and a contracted coordinate
  bool has_few_cells() const { return columns <= kMostColumns && rows <= kMostCells / columns; }
};

/// Copies with all threads.
void copy_in_parallel(void* to, const void* from, std::size_t bytes);

}  // namespace retensor::bcb_sptc
