// The run of cublas.cuda: cublasGemmEx on S with its zeros.
#include <cublas_v2.h>

#include <string>

#include "common/method/method.hpp"
#include "common/tensor/operations.hpp"
#include "papers/tca_spmm/baselines/library_cuda.cuh"
#include "papers/tca_spmm/format/options.hpp"
#include "papers/tca_spmm/kernels/run_cuda.cuh"

namespace retensor::cublas {
namespace {

using tca_spmm::DenseOrder;
using tca_spmm::Element;
using tca_spmm::signed_of;
using tca_spmm::type_of;

const tca_spmm::CudaLibrary& library() {
  static const tca_spmm::CudaLibrary cublas("libcublas.so." + std::to_string(CUBLAS_VER_MAJOR));
  return cublas;
}

void check(cublasStatus_t status, const char* call) {
  if (status != CUBLAS_STATUS_SUCCESS)
    throw DeviceError(std::string(call) + ": " +
                      RETENSOR_LIBRARY_FUNCTION(cublasGetStatusString)(status));
}

/// Rows of S with their zeros, padded to `stride` elements; equal coordinates are added up.
std::vector<float> dense_rows(const Coo& s, Count stride) {
  std::vector<float> rows(s.dims[0] * stride);
  const auto values = s.values.as<float>();
  for (Count x = 0; x < s.nnz(); ++x) rows[s.indices[0][x] * stride + s.indices[1][x]] += values[x];
  return rows;
}

class DenseRun : public tca_spmm::SpmmRun {
 public:
  DenseRun(const Problem& problem, tca_spmm::Types types, DenseOrder order)
      : SpmmRun(problem, "cublasGemmEx", types, order),
        depth_(problem.x().dims[1]),
        s_stride_(tca_spmm::rounded_up(depth_, 8)),
        s_(tca_spmm::upload_elements(dense_rows(problem.x(), s_stride_), operands_)) {
    count_bytes(s_);
    RETENSOR_LIBRARY_CALL(cublasCreate_v2, &handle_);
  }
  ~DenseRun() override { RETENSOR_LIBRARY_FUNCTION(cublasDestroy_v2)(handle_); }

  /// The library's matrices are column-major, so that O^T = D^T S^T.
  void run(StageTimer& timer) override {
    timer.stage("kernel");
    RETENSOR_LIBRARY_CALL(cublasSetStream_v2, handle_, stream_of(timer));
    const float one = 1, zero = 0;
    const auto transposed = d_.order == DenseOrder::row_major ? CUBLAS_OP_N : CUBLAS_OP_T;
    RETENSOR_LIBRARY_CALL(cublasGemmEx_64, handle_, transposed, CUBLAS_OP_N, signed_of(width_),
                          signed_of(rows_), signed_of(depth_), &one, d_.values.data(),
                          type_of(operands_), signed_of(d_.stride), s_.data(), type_of(operands_),
                          signed_of(s_stride_), &zero, out_.data(), type_of(output_),
                          signed_of(out_stride_), CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
  }

 private:
  const Count depth_, s_stride_;
  const device::Buffer<std::byte> s_;
  cublasHandle_t handle_ = nullptr;
};

}  // namespace

std::unique_ptr<Prepared> prepare_cuda(const Problem& problem, const Params& params) {
  return std::make_unique<DenseRun>(problem, tca_spmm::types_of(params),
                                    tca_spmm::dense_order(params));
}

std::string missing_library() {
  return library().missing();
}

}  // namespace retensor::cublas
