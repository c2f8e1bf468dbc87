// What the runs of sparse times dense matrix on the device share: D and the result. Included by .cu
// files alone.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "common/numeric/rounding.hpp"
#include "common/run/cuda_run.cuh"
#include "papers/tca_spmm/format/operands_device.cuh"
#include "papers/tca_spmm/format/options.hpp"

namespace retensor::tca_spmm {

/// D, and O, M x N, each in either order, its leading dimension padded to whole 16-byte vectors, K
/// and M to a multiple of `row_unit`.
class SpmmRun : public CudaRun {
 public:
  SpmmRun(const Problem& problem, std::string kernel, Types types,
          DenseOrder dense_order = DenseOrder::row_major, DenseOrder order = DenseOrder::row_major,
          Count row_unit = 1)
      : CudaRun(problem, std::move(kernel)),
        rows_(problem.x().dims[0]),
        width_(problem.rank()),
        stored_rows_(rounded_up(rows_, row_unit)),
        operands_(types.operands),
        output_(types.output),
        order_(order),
        out_stride_(rounded_up(order == DenseOrder::row_major ? width_ : stored_rows_, 8)),
        out_((order == DenseOrder::row_major ? stored_rows_ : width_) * out_stride_ *
             size_of(output_)),
        d_(problem.dense().front(), dense_order, operands_, row_unit) {
    count_bytes(out_, d_.values);
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
  const Element operands_, output_;
  const DenseOrder order_;
  const Count out_stride_;
  Buffer<std::byte> out_;
  DeviceDense d_;

 private:
  float element(const std::vector<std::byte>& bytes, Count at) const {
    if (output_ == Element::half)
      return from_fp16_bits(reinterpret_cast<const std::uint16_t*>(bytes.data())[at]);
    return reinterpret_cast<const float*>(bytes.data())[at];
  }
};

}  // namespace retensor::tca_spmm
