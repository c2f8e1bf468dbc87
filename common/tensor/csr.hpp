// Compressed sparse rows.
#pragma once

#include <vector>

#include "common/core/types.hpp"
#include "common/tensor/coo.hpp"
#include "common/tensor/values.hpp"

namespace retensor {

struct Csr {
  std::uint64_t rows = 0;
  std::uint64_t cols = 0;
  std::vector<Count> row_start;  ///< rows + 1 entries, row_start[rows] = nnz
  std::vector<Index> columns;    ///< in each row ascending when made by to_csr
  Values values;

  int order() const { return 2; }
  Dims dims() const { return {rows, cols}; }
  Count nnz() const { return values.size(); }
  Count bytes() const;
  /// The nonzeros row by row, those of a row in stored order.
  Coo to_coo() const;
  /// Throws InputError that names the first row or column that breaks an invariant.
  void check() const;
};

}  // namespace retensor
