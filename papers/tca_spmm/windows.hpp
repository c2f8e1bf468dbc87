// S as windows of 16 rows whose non-empty columns stand side by side: an own format, whose products
// gather a row of D once for 16 rows of S.
//
// The columns of a window that hold a nonzero are listed in ascending order and cut into strips of
// 64. A strip is one of tiles.hpp, with columns numbered within the list.
#pragma once

#include <cstdint>
#include <vector>

#include "common/core/types.hpp"
#include "common/tensor/array.hpp"
#include "common/tensor/csr.hpp"
#include "papers/tca_spmm/tiles.hpp"

namespace retensor::tca_spmm {

inline constexpr Index kNoColumn = ~Index{0};

struct Windows {
  std::uint64_t rows = 0, cols = 0;
  std::vector<Index> strip_start;  ///< by window, the last is the number of strips
  std::vector<Index> columns;      ///< 64 a strip, kNoColumn behind a window's last
  std::vector<Index> entry_start;  ///< by strip, in vectors of entries
  Array<std::uint32_t> entries;    ///< those of a strip as dealt_out() orders them

  Count windows() const { return strip_start.size() - 1; }
  Count strips() const { return columns.size() / kTileDepth; }
  /// Columns that are listed, those of all windows.
  Count listed() const;
  Count bytes() const;
};

/// `matrix` in single precision, columns of a row ascending; equal coordinates are added up, then
/// rounded. Throws InputError where it breaks an invariant of CSR or has 2^32 vectors of entries.
Windows to_windows(const Csr& matrix);

}  // namespace retensor::tca_spmm
