// The distinct coordinates of a row of CSR, which tiles and panels are made of.
#pragma once

#include "common/core/types.hpp"
#include "common/tensor/csr.hpp"

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

}  // namespace retensor::tca_spmm
