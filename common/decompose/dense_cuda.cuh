// cuBLAS and cuSOLVER on matrices of doubles, column by column, all on one stream. Included by .cu
// files alone.
#pragma once

#include <cublas_v2.h>
#include <cusolverDn.h>

#include <string>

#include "common/device/cuda.cuh"
#include "common/device/library.cuh"

namespace retensor::tucker {
namespace blas {

inline const device::CudaLibrary& library() {
  static const device::CudaLibrary cublas("libcublas.so." + std::to_string(CUBLAS_VER_MAJOR));
  return cublas;
}

inline void check(cublasStatus_t status, const char* call) {
  if (status != CUBLAS_STATUS_SUCCESS)
    throw DeviceError(std::string(call) + ": " +
                      RETENSOR_LIBRARY_FUNCTION(cublasGetStatusString)(status));
}

class Handle {
 public:
  explicit Handle(cudaStream_t stream) {
    RETENSOR_LIBRARY_CALL(cublasCreate_v2, &handle_);
    RETENSOR_LIBRARY_CALL(cublasSetStream_v2, handle_, stream);
  }
  ~Handle() { RETENSOR_LIBRARY_FUNCTION(cublasDestroy_v2)(handle_); }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;

  /// The lower triangle of c = a a^T + beta c, a of n x depth, or with `transposed` a^T a.
  void gram(bool transposed, Count n, Count depth, const double* a, double beta, double* c) const {
    const double one = 1;
    RETENSOR_LIBRARY_CALL(cublasDsyrk_v2_64, handle_, CUBLAS_FILL_MODE_LOWER,
                          transposed ? CUBLAS_OP_T : CUBLAS_OP_N, number(n), number(depth), &one, a,
                          number(transposed ? depth : n), &beta, c, number(n));
  }
  /// c (rows x cols) = op(a) op(b) + beta c, a and b without gaps.
  void multiply(bool a_transposed, bool b_transposed, Count rows, Count cols, Count depth,
                const double* a, const double* b, double beta, double* c) const {
    const double one = 1;
    const auto op = [](bool transposed) { return transposed ? CUBLAS_OP_T : CUBLAS_OP_N; };
    RETENSOR_LIBRARY_CALL(cublasDgemm_v2_64, handle_, op(a_transposed), op(b_transposed),
                          number(rows), number(cols), number(depth), &one, a,
                          number(a_transposed ? depth : rows), b,
                          number(b_transposed ? cols : depth), &beta, c, number(rows));
  }
  /// The 2-norm of n numbers; waits for the stream.
  double norm(Count n, const double* x) const {
    double result = 0;
    RETENSOR_LIBRARY_CALL(cublasDnrm2_v2_64, handle_, number(n), x, 1, &result);
    return result;
  }

 private:
  static std::int64_t number(Count n) { return static_cast<std::int64_t>(n); }
  cublasHandle_t handle_ = nullptr;
};

}  // namespace blas

namespace solver {

inline const device::CudaLibrary& library() {
  static const device::CudaLibrary cusolver("libcusolver.so." + std::to_string(CUSOLVER_VER_MAJOR));
  return cusolver;
}

inline void check(cusolverStatus_t status, const char* call) {
  if (status != CUSOLVER_STATUS_SUCCESS)
    throw DeviceError(std::string(call) + ": status " + std::to_string(status));
}

/// Eigenvalues and vectors of symmetric matrices of up to `largest` rows.
class Eigen {
 public:
  Eigen(cudaStream_t stream, Count largest) : values_(largest), status_(1) {
    RETENSOR_LIBRARY_CALL(cusolverDnCreate, &handle_);
    RETENSOR_LIBRARY_CALL(cusolverDnSetStream, handle_, stream);
    int elements = 0;
    RETENSOR_LIBRARY_CALL(cusolverDnDsyevd_bufferSize, handle_, CUSOLVER_EIG_MODE_VECTOR,
                          CUBLAS_FILL_MODE_LOWER, static_cast<int>(largest), nullptr,
                          static_cast<int>(largest), values_.data(), &elements);
    room_ = device::Buffer<double>(static_cast<Count>(elements));
  }
  ~Eigen() { RETENSOR_LIBRARY_FUNCTION(cusolverDnDestroy)(handle_); }
  Eigen(const Eigen&) = delete;
  Eigen& operator=(const Eigen&) = delete;

  /// Overwrites the lower triangle's matrix by its eigenvectors, those of the least values first.
  void solve(Count n, double* matrix) {
    RETENSOR_LIBRARY_CALL(cusolverDnDsyevd, handle_, CUSOLVER_EIG_MODE_VECTOR,
                          CUBLAS_FILL_MODE_LOWER, static_cast<int>(n), matrix, static_cast<int>(n),
                          values_.data(), room_.data(), static_cast<int>(room_.size()),
                          status_.data());
  }
  /// Ascending, of the last matrix.
  const double* values() const { return values_.data(); }
  /// 0 where the last one was solved; waits for the device.
  int status() const { return status_.to_host().front(); }

 private:
  cusolverDnHandle_t handle_ = nullptr;
  device::Buffer<double> values_, room_;
  device::Buffer<int> status_;
};

}  // namespace solver
}  // namespace retensor::tucker
