#include "papers/tca_spmm/format/operands.hpp"

#include <algorithm>
#include <utility>

#include "common/numeric/rounding.hpp"

namespace retensor::tca_spmm {

Count HalfCsr::bytes() const {
  return row_start.size() * sizeof(Count) + columns.size() * sizeof(Index) +
         values.size() * sizeof(std::uint16_t);
}

namespace {

Csr in_single_precision(const HalfCsr& half) {
  Array<float> values(half.values.size());
  std::transform(half.values.begin(), half.values.end(), values.begin(), from_fp16_bits);
  return {half.rows, half.cols, half.row_start, half.columns, std::move(values)};
}

}  // namespace

Coo HalfCsr::to_coo() const {
  return in_single_precision(*this).to_coo();
}

void HalfCsr::check() const {
  in_single_precision(*this).check();
  to_coo().check();
}

HalfCsr to_half_csr(const Csr& matrix) {
  matrix.check();
  const auto values = matrix.values.as<float>();
  HalfCsr half{matrix.rows, matrix.cols, matrix.row_start, matrix.columns,
               Array<std::uint16_t>(matrix.nnz())};
  std::transform(values.begin(), values.end(), half.values.begin(), to_fp16_bits);
  return half;
}

HalfMatrix::HalfMatrix(const Matrix& matrix, DenseOrder order)
    : cols_(matrix.cols()),
      row_stride_(order == DenseOrder::row_major ? matrix.cols() : 1),
      column_stride_(order == DenseOrder::row_major ? 1 : matrix.rows()),
      values_(matrix.rows() * matrix.cols()) {
  const auto from = matrix.view<float>();
  for (std::uint64_t i = 0; i < from.rows; ++i)
    for (std::uint64_t j = 0; j < from.cols; ++j)
      values_[i * row_stride_ + j * column_stride_] = to_fp16_bits(from(i, j));
}

}  // namespace retensor::tca_spmm
