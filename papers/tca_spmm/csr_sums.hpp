// What tiles and panels are made of: the distinct coordinates of a row of CSR; of tiles, the
// entries of strips.
#pragma once

#include <cstdint>
#include <vector>

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

/// The entries of a strip, not empty, as a warp stores them: padded to whole vectors by one of the
/// last vector and dealt out so that what 32 lanes store at once, entry j of 32 vectors, lies in as
/// many banks of shared memory as can be.
std::vector<std::uint32_t> dealt_out(std::vector<std::uint32_t> entries);

}  // namespace retensor::tca_spmm
