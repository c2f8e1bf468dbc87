// Compressed sparse rows: invariants, conversion from and to coordinates.
#include "common/tensor/csr.hpp"

#include "common/core/message.hpp"
#include "common/tensor/operations.hpp"

namespace retensor {

Count Csr::bytes() const {
  return row_start.size() * sizeof(Count) + columns.size() * sizeof(Index) + values.bytes();
}

void Csr::check() const {
  if (row_start.size() != rows + 1)
    throw input_error("{} row starts for {} rows", row_start.size(), rows);
  if (columns.size() != nnz()) throw input_error("{} columns for {} values", columns.size(), nnz());
  if (row_start.front() != 0 || row_start.back() != nnz())
    throw input_error("row starts run from {} to {}, not from 0 to {}", row_start.front(),
                      row_start.back(), nnz());
  for (std::uint64_t i = 0; i < rows; ++i)
    if (row_start[i] > row_start[i + 1])
      throw input_error("row {}: its end {} lies before its start {}", i + 1, row_start[i + 1],
                        row_start[i]);
  for (Count x = 0; x < nnz(); ++x)
    if (columns[x] >= cols)
      throw input_error("nonzero {}: column {} is beyond {}", x + 1, std::uint64_t{columns[x]} + 1,
                        cols);
}

Csr to_csr(const Coo& matrix) {
  if (matrix.order() != 2)
    throw input_error("CSR needs order 2, the tensor has order {}", matrix.order());
  Coo sorted = matrix;
  sort_nonzeros(sorted, natural_order(2));
  Csr csr;
  csr.rows = matrix.dims[0];
  csr.cols = matrix.dims[1];
  csr.row_start.assign(csr.rows + 1, 0);
  for (const Index i : sorted.indices[0]) ++csr.row_start[std::size_t{i} + 1];
  for (std::uint64_t i = 0; i < csr.rows; ++i) csr.row_start[i + 1] += csr.row_start[i];
  csr.columns = std::move(sorted.indices[1]);
  csr.values = std::move(sorted.values);
  return csr;
}

Coo Csr::to_coo() const {
  Coo coo(dims(), values.dtype(), nnz());
  for (std::uint64_t i = 0; i < rows; ++i)
    for (Count x = row_start[i]; x < row_start[i + 1]; ++x)
      coo.indices[0][x] = static_cast<Index>(i);
  coo.indices[1] = columns;
  coo.values = values;
  return coo;
}

}  // namespace retensor
