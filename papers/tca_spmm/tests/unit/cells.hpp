// Cells of a sparse matrix that are not zero, by coordinate, as halves: what a test compares.
#pragma once

#include <cstdint>
#include <map>
#include <utility>

#include "common/numeric/rounding.hpp"
#include "common/tensor/coo.hpp"

namespace retensor::tca_spmm {

using Cells = std::map<std::pair<Count, Count>, std::uint16_t>;  ///< by row and column

inline Cells cells_of(const Coo& matrix) {
  Cells cells;
  for (Count x = 0; x < matrix.nnz(); ++x)
    cells[{matrix.indices[0][x], matrix.indices[1][x]}] =
        to_fp16_bits(static_cast<float>(matrix.values.at(x)));
  return cells;
}

}  // namespace retensor::tca_spmm
