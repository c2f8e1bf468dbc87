// Leading eigenvectors of a Gram matrix G by a randomised range finder: a block of random columns
// is multiplied by G and made orthonormal a few times, then turned into eigenvectors of what G is
// on their span (N. Halko, P. G. Martinsson, J. A. Tropp: Finding Structure with Randomness, SIAM
// Review 53(2), 2011, Algorithms 4.4 and 5.3). Included by .cu files alone.
#pragma once

#include <algorithm>
#include <utility>

#include "common/core/rng.hpp"
#include "common/decompose/dense_cuda.cuh"
#include "common/device/loops.cuh"

namespace retensor::tucker {

/// Columns beyond those asked for, and multiplications by G. NOTES.md of papers/hlsto says what fit
/// others reach.
inline constexpr Count kMoreColumns = 8;
inline constexpr int kPowers = 4;

/// The last `rank` of `found` eigenvectors of n numbers, the last first, as rows; with `scaled`
/// divided by the roots of their values, where a value that is rounding gives zeros.
static __global__ void leading_rows(const double* vectors, const double* values, Count n,
                                    Count found, Count rank, bool scaled, double* rows) {
  const double rounding = static_cast<double>(n) * 2.3e-16 * values[found - 1];
  device::for_each_of_grid(rank * n, [=](Count k) {
    const Count from = found - 1 - k / n;
    const double value = values[from];
    const double scale = !scaled ? 1 : value > rounding ? rsqrt(value) : 0;
    rows[k] = vectors[from * n + k % n] * scale;
  });
}

static __global__ void draw_signs(Count n, double* entries) {
  constexpr CounterRng rng(1);
  device::for_each_of_grid(n, [=](Count k) { entries[k] = rng.bits(k) % 2 == 0 ? 1 : -1; });
}

/// For matrices of up to so many rows, of which so many eigenvectors are asked for.
class RangeFinder {
 public:
  RangeFinder(Count rows, Count leading)
      : columns_(std::min(rows, leading + kMoreColumns)),
        q_(rows * columns_),
        z_(rows * columns_),
        small_(columns_ * columns_),
        mixed_(columns_ * columns_) {}

  /// Columns of the block, which is as large as the matrix that `eigen` has to solve.
  Count columns() const { return columns_; }

  /// As solver::Eigen::solve, from the lower triangle of the matrix.
  Count solve(Count rows, Count leading, const blas::Handle& blas, solver::Eigen& eigen,
              cudaStream_t stream, double* matrix) {
    const Count columns = std::min(rows, leading + kMoreColumns);
    RETENSOR_CUDA_LAUNCH(draw_signs, device::blocks_for(rows * columns, 256), 256, 0, stream,
                         rows * columns, q_.data());
    const auto multiply = [&] {
      blas.multiply_symmetric(rows, columns, matrix, q_.data(), z_.data());
    };
    const auto orthonormalise = [&] {
      blas.multiply(true, false, columns, columns, rows, z_.data(), z_.data(), 0, small_.data());
      eigen.solve(columns, columns, small_.data());
      RETENSOR_CUDA_LAUNCH(leading_rows, device::blocks_for(columns * columns, 256), 256, 0, stream,
                           small_.data(), eigen.values(), columns, columns, columns, true,
                           mixed_.data());
      blas.multiply(false, false, rows, columns, columns, z_.data(), mixed_.data(), 0, q_.data());
    };
    for (int power = 0; power < kPowers; ++power) multiply(), orthonormalise();
    // Once more: the first time leaves the rounding of a Gram matrix.
    std::swap(q_, z_);
    orthonormalise();
    multiply();
    blas.multiply(true, false, columns, columns, rows, q_.data(), z_.data(), 0, small_.data());
    eigen.solve(columns, columns, small_.data());
    blas.multiply(false, false, rows, columns, columns, q_.data(), small_.data(), 0, matrix);
    return columns;
  }

  Count bytes() const { return q_.bytes() + z_.bytes() + small_.bytes() + mixed_.bytes(); }

 private:
  const Count columns_;
  device::Buffer<double> q_, z_, small_, mixed_;
};

}  // namespace retensor::tucker
