// cuBLAS and cuSOLVER on matrices of doubles, column by column, all on one stream. Included by .cu
// files alone.
#pragma once

#include <cublas_v2.h>
#include <cusolverDn.h>

#include <string>
#include <vector>

#include "common/decompose/hooi_sweeps.hpp"
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
  Handle() {
    cublasHandle_t handle = nullptr;
    RETENSOR_LIBRARY_CALL(cublasCreate_v2, &handle);
    handle_ = {handle, RETENSOR_LIBRARY_FUNCTION(cublasDestroy_v2)};
  }

  void use(cudaStream_t stream) const {
    RETENSOR_LIBRARY_CALL(cublasSetStream_v2, handle_, stream);
  }
  /// The lower triangle of c = a^T a, a of depth x n. For a much deeper a than wide use multiply():
  /// cublasDsyrk divides the result alone, of which there is little (NOTES.md of papers/hlsto).
  void gram(Count n, Count depth, const double* a, double* c) const {
    const double one = 1, zero = 0;
    RETENSOR_LIBRARY_CALL(cublasDsyrk_v2_64, handle_, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_T,
                          number(n), number(depth), &one, a, number(depth), &zero, c, number(n));
  }
  /// c (n x cols) = s b of the lower triangle of s, n x n.
  void multiply_symmetric(Count n, Count cols, const double* s, const double* b, double* c) const {
    const double one = 1, zero = 0;
    RETENSOR_LIBRARY_CALL(cublasDsymm_v2_64, handle_, CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_LOWER,
                          number(n), number(cols), &one, s, number(n), b, number(n), &zero, c,
                          number(n));
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
  device::Owned<cublasHandle_t> handle_;
};

}  // namespace blas

namespace solver {

inline void check(cusolverStatus_t status, const char* call) {
  if (status != CUSOLVER_STATUS_SUCCESS)
    throw DeviceError(std::string(call) + ": status " + std::to_string(status));
}

inline const device::CudaLibrary& library() {
  static const device::CudaLibrary cusolver("libcusolver.so." + std::to_string(CUSOLVER_VER_MAJOR));
  return cusolver;
}

/// The `leading` or more eigenvectors of the largest values of symmetric matrices of up to
/// `largest` rows, by one of three functions: all by cusolverDnDsyevd (of the range finder's small
/// matrices too) or cusolverDnXsyevd, those asked for by cusolverDnDsyevdx.
class Eigen {
 public:
  Eigen(Count largest, Count leading, Solver solver)
      : solver_(solver), values_(largest), status_(1) {
    cusolverDnHandle_t handle = nullptr;
    RETENSOR_LIBRARY_CALL(cusolverDnCreate, &handle);
    handle_ = {handle, RETENSOR_LIBRARY_FUNCTION(cusolverDnDestroy)};
    const int n = static_cast<int>(largest);
    int elements = 0;
    switch (solver) {
      case Solver::syevd:
      case Solver::range:
        RETENSOR_LIBRARY_CALL(cusolverDnDsyevd_bufferSize, handle_, kVectors, kLower, n, nullptr, n,
                              values_.data(), &elements);
        break;
      case Solver::syevdx:
        RETENSOR_LIBRARY_CALL(cusolverDnDsyevdx_bufferSize, handle_, kVectors, CUSOLVER_EIG_RANGE_I,
                              kLower, n, nullptr, n, 0, 0, n - static_cast<int>(leading) + 1, n,
                              &found_, values_.data(), &elements);
        break;
      case Solver::xsyevd: {
        std::size_t bytes = 0, host_bytes = 0;
        RETENSOR_LIBRARY_CALL(cusolverDnXsyevd_bufferSize, handle_, nullptr, kVectors, kLower,
                              largest, CUDA_R_64F, nullptr, largest, CUDA_R_64F, values_.data(),
                              CUDA_R_64F, &bytes, &host_bytes);
        elements = static_cast<int>((bytes + sizeof(double) - 1) / sizeof(double));
        host_room_.resize(host_bytes);
      }
    }
    room_ = device::Buffer<double>(static_cast<Count>(elements));
  }

  void use(cudaStream_t stream) const {
    RETENSOR_LIBRARY_CALL(cusolverDnSetStream, handle_, stream);
  }

  /// Overwrites the lower triangle's matrix by eigenvectors, those of the least values first, and
  /// returns how many they are.
  Count solve(Count rows, Count leading, double* matrix) {
    const int n = static_cast<int>(rows), room = static_cast<int>(room_.size());
    switch (solver_) {
      case Solver::syevd:
      case Solver::range:
        RETENSOR_LIBRARY_CALL(cusolverDnDsyevd, handle_, kVectors, kLower, n, matrix, n,
                              values_.data(), room_.data(), room, status_.data());
        return rows;
      case Solver::syevdx:
        RETENSOR_LIBRARY_CALL(cusolverDnDsyevdx, handle_, kVectors, CUSOLVER_EIG_RANGE_I, kLower, n,
                              matrix, n, 0, 0, n - static_cast<int>(leading) + 1, n, &found_,
                              values_.data(), room_.data(), room, status_.data());
        return leading;
      case Solver::xsyevd:
        RETENSOR_LIBRARY_CALL(cusolverDnXsyevd, handle_, nullptr, kVectors, kLower, rows,
                              CUDA_R_64F, matrix, rows, CUDA_R_64F, values_.data(), CUDA_R_64F,
                              room_.data(), room_.bytes(), host_room_.data(), host_room_.size(),
                              status_.data());
        return rows;
    }
    throw LogicError("no solver of that number");
  }
  /// Ascending, of the last matrix.
  const double* values() const { return values_.data(); }
  Count bytes() const { return values_.bytes() + room_.bytes(); }
  /// Throws DeviceError where the last matrix was not solved; waits for the device.
  void check_solved() const {
    if (const int status = status_.to_host().front(); status != 0)
      throw DeviceError("eigenvectors: no convergence, status " + std::to_string(status));
  }

 private:
  static constexpr auto kVectors = CUSOLVER_EIG_MODE_VECTOR;
  static constexpr auto kLower = CUBLAS_FILL_MODE_LOWER;
  const Solver solver_;
  device::Owned<cusolverDnHandle_t> handle_;
  device::Buffer<double> values_, room_;
  device::Buffer<int> status_;
  std::vector<char> host_room_;
  int found_ = 0;
};

}  // namespace solver
}  // namespace retensor::tucker
