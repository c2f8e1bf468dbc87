// Products whose rows have stated sizes, for the methods that treat these differently.
#pragma once

#include <vector>

#include "papers/bcb_sptc/tests/unit/dense.hpp"

namespace retensor::bcb_sptc::test {

/// Row i of the first meets only row i of the second, which has lengths[i] nonzeros, and the last
/// row meets all; columns of the others are spread over those of the longest.
inline Case rows_of(const std::vector<Index>& lengths) {
  const auto rows = static_cast<Index>(lengths.size());
  Coo x({rows + 1, rows}, DType::f32, 2 * rows);
  Count nonzeros = 0;
  for (const Index length : lengths) nonzeros += length;
  Coo y({rows, lengths.back()}, DType::f32, nonzeros);
  Count p = 0;
  for (Index row = 0; row < rows; ++row) {
    for (const Index at : {row, rows}) {
      const Count own = at == rows ? rows + row : row;
      x.indices[0][own] = at, x.indices[1][own] = row;
      x.values.set(own, 1 + static_cast<double>(row) / 8);
    }
    const Index step = lengths.back() / lengths[row];
    for (Index i = 0; i < lengths[row]; ++i, ++p) {
      y.indices[0][p] = row, y.indices[1][p] = i * step;
      y.values.set(p, static_cast<double>(i % 7) - 3);
    }
  }
  return {"ak,kb->ab", shared(x), shared(y)};
}

}  // namespace retensor::bcb_sptc::test
