// What tiles and windows are made of: the distinct coordinates of a row of CSR, and entries.
#pragma once

#include "common/numeric/rounding.hpp"
#include "common/tensor/csr.hpp"
#include "papers/tca_spmm/tiles.hpp"

namespace retensor::tca_spmm {

/// Calls f(column, value) for each coordinate of a row, columns ascending, with the sum of those
/// that are equal.
template <class F>
void for_each_sum(const Csr& matrix, Count row, const F& f) {
  const auto values = matrix.values.as<float>();
  const Count end = matrix.row_start[row + 1];
  for (Count x = matrix.row_start[row]; x < end;) {
    const Index column = matrix.columns[x];
    float sum = 0;
    for (; x < end && matrix.columns[x] == column; ++x) sum += values[x];
    f(column, sum);
  }
}

/// A nonzero of a strip.
inline std::uint32_t entry_of(unsigned row, Count column, float value) {
  return static_cast<std::uint32_t>(to_fp16_bits(value)) << 16 |
         place_in_strip(row, static_cast<unsigned>(column));
}

inline Count vectors_of(Count entries) {
  return (entries + kEntryVector - 1) / kEntryVector;
}

}  // namespace retensor::tca_spmm
