// What the runs of sparse times dense matrix on the device share: S in CSR, D in either order of
// its elements, the result. Included by .cu files alone.
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "common/measure/cuda_run.cuh"
#include "common/numeric/rounding.hpp"
#include "papers/tca_spmm/format.hpp"

namespace retensor::tca_spmm {

using device::Buffer;

/// Elements as bytes on the device; floats rounded to halves where `element` says so.
inline Buffer<std::byte> upload_elements(std::span<const float> from, Element element) {
  if (element == Element::single) return Buffer<std::byte>(std::as_bytes(from));
  std::vector<std::uint16_t> halves(from.size());
  std::transform(from.begin(), from.end(), halves.begin(), to_fp16_bits);
  return Buffer<std::byte>(std::as_bytes(std::span<const std::uint16_t>(halves)));
}

/// S as CSR on the device.
struct DeviceCsr {
  DeviceCsr(const Csr& s, Element element)
      : rows(s.rows),
        cols(s.cols),
        row_start(s.row_start),
        columns(s.columns),
        values(upload_elements(s.values.as<float>(), element)) {}
  Count nnz() const { return columns.size(); }

  std::uint64_t rows, cols;
  Buffer<Count> row_start;
  Buffer<Index> columns;
  Buffer<std::byte> values;
};

inline Count rounded_up(Count n, Count unit) {
  return (n + unit - 1) / unit * unit;
}

/// D, K x N, padded by zeros: its leading dimension to whole 16-byte vectors, K to a multiple of
/// `row_unit`.
struct DeviceDense {
  DeviceDense(const Matrix& d, DenseOrder dense_order, Element element, Count row_unit = 1)
      : order(dense_order), rows(rounded_up(d.rows(), row_unit)), cols(d.cols()) {
    const bool by_row = order == DenseOrder::row_major;
    stride = rounded_up(by_row ? cols : rows, 16 / size_of(element));
    std::vector<float> elements((by_row ? rows : cols) * stride);
    const auto from = d.view<float>();
    for (std::uint64_t i = 0; i < from.rows; ++i)
      for (std::uint64_t j = 0; j < cols; ++j)
        elements[by_row ? i * stride + j : j * stride + i] = from(i, j);
    values = upload_elements(elements, element);
  }

  DenseOrder order;
  std::uint64_t rows, cols;
  Count stride = 0;  ///< elements between rows, or columns where these are contiguous
  Buffer<std::byte> values;
};

/// O, M x N, in either order, its leading dimension padded to whole 16-byte vectors and M to a
/// multiple of `row_unit`.
class SpmmRun : public CudaRun {
 public:
  SpmmRun(const Problem& problem, std::string kernel, Element output,
          DenseOrder order = DenseOrder::row_major, Count row_unit = 1)
      : CudaRun(problem, std::move(kernel)),
        rows_(problem.x().dims[0]),
        width_(problem.rank()),
        stored_rows_(rounded_up(rows_, row_unit)),
        output_(output),
        order_(order),
        out_stride_(rounded_up(order == DenseOrder::row_major ? width_ : stored_rows_, 8)),
        out_((order == DenseOrder::row_major ? stored_rows_ : width_) * out_stride_ *
             size_of(output)) {
    count_bytes(out_);
  }

  Result result() override {
    Matrix matrix(rows_, width_, DType::f32);
    const auto to = matrix.view<float>();
    const std::vector<std::byte> bytes = out_.to_host();
    const bool by_row = order_ == DenseOrder::row_major;
    for (std::uint64_t i = 0; i < rows_; ++i)
      for (std::uint64_t j = 0; j < width_; ++j)
        to(i, j) = element(bytes, by_row ? i * out_stride_ + j : j * out_stride_ + i);
    return matrix;
  }

 protected:
  const std::uint64_t rows_, width_;
  const Count stored_rows_;
  const Element output_;
  const DenseOrder order_;
  const Count out_stride_;
  Buffer<std::byte> out_;

 private:
  float element(const std::vector<std::byte>& bytes, Count at) const {
    if (output_ == Element::half)
      return from_fp16_bits(reinterpret_cast<const std::uint16_t*>(bytes.data())[at]);
    return reinterpret_cast<const float*>(bytes.data())[at];
  }
};

}  // namespace retensor::tca_spmm
