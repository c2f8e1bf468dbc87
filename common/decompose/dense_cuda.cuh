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
#include "common/device/loops.cuh"

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

/// c = the sum of the slices of n numbers + beta c.
static __global__ void add_slices(const double* parts, Count n, Count slices, double beta,
                                  double* c) {
  device::for_each_of_grid(n, [=](Count k) {
    double sum = beta == 0 ? 0 : beta * c[k];
    for (Count s = 0; s < slices; ++s) sum += parts[s * n + k];
    c[k] = sum;
  });
}

class Handle {
 public:
  Handle() { RETENSOR_LIBRARY_CALL(cublasCreate_v2, &handle_); }
  ~Handle() { RETENSOR_LIBRARY_FUNCTION(cublasDestroy_v2)(handle_); }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;

  void use(cudaStream_t stream) {
    stream_ = stream;
    RETENSOR_LIBRARY_CALL(cublasSetStream_v2, handle_, stream);
  }
  /// The lower triangle of c = a^T a, a of depth x n.
  void gram(Count n, Count depth, const double* a, double* c) const {
    const double one = 1, zero = 0;
    RETENSOR_LIBRARY_CALL(cublasDsyrk_v2_64, handle_, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_T,
                          number(n), number(depth), &one, a, number(depth), &zero, c, number(n));
  }
  /// c = a a^T + beta c for a short and wide a of n x depth. cublasDsyrk and cublasDgemm leave most
  /// of the device idle there: they divide the result, not the depth. `parts` has room for
  /// parts_of(n, depth) numbers.
  void wide_gram(Count n, Count depth, const double* a, double beta, double* parts,
                 double* c) const {
    const double one = 1, zero = 0;
    const Count slices = depth / kSlice, rest = depth % kSlice;
    if (rest > 0) {
      multiply(false, true, n, n, rest, a + n * slices * kSlice, a + n * slices * kSlice, beta, c);
      beta = 1;
    }
    if (slices == 0) return;
    RETENSOR_LIBRARY_CALL(cublasDgemmStridedBatched_64, handle_, CUBLAS_OP_N, CUBLAS_OP_T,
                          number(n), number(n), number(kSlice), &one, a, number(n),
                          number(n * kSlice), a, number(n), number(n * kSlice), &zero, parts,
                          number(n), number(n * n), number(slices));
    RETENSOR_CUDA_LAUNCH(add_slices, device::blocks_for(n * n, 128), 128, 0, stream_, parts, n * n,
                         slices, beta, c);
  }
  static Count parts_of(Count n, Count depth) { return n * n * (depth / kSlice); }
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
  static constexpr Count kSlice = 2048;  // rows of a batch
  static std::int64_t number(Count n) { return static_cast<std::int64_t>(n); }
  cublasHandle_t handle_ = nullptr;
  cudaStream_t stream_ = nullptr;
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
    RETENSOR_LIBRARY_CALL(cusolverDnCreate, &handle_);
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
  ~Eigen() { RETENSOR_LIBRARY_FUNCTION(cusolverDnDestroy)(handle_); }
  Eigen(const Eigen&) = delete;
  Eigen& operator=(const Eigen&) = delete;

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
  cusolverDnHandle_t handle_ = nullptr;
  device::Buffer<double> values_, room_;
  device::Buffer<int> status_;
  std::vector<char> host_room_;
  int found_ = 0;
};

}  // namespace solver
}  // namespace retensor::tucker
