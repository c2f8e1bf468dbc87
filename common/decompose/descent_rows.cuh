// Steps of non-negative CP on the device: rows of a factor descend towards least squares, one
// component after the other (HALS, sweeps.hpp). Included by .cu files alone.
//
// With a row's own model a and its MTTKRP m, both of factors with unit columns, g = m - a V is the
// step that is left. For each component r in turn a_r moves by max(-a_r, g_r / v_rr), and g by as
// much times row r of V. A warp takes a row, a lane kColumns of its columns 32 apart: a step is a
// shuffle and kColumns multiply-adds, and V is read from the first cache.
#pragma once

#include "common/decompose/factor_rows.cuh"

namespace retensor::cpd {

constexpr unsigned kMostDescended = 256;  // columns that the lanes' registers hold

/// M and A are rows x stride. Coefficients are [3][width]: by which a column of M, of A before and
/// of A after is multiplied; V is width x width. Parts as of Update, `chunk` columns a chunk.
template <class T>
struct Descent {
  const T* m;
  const T* v;
  const double* coefficients;
  Count rows;
  unsigned stride, rank, width, chunk;
  bool moves;  ///< false: A stays as it is, and M o A alone is added up
  T* a;
  double* product_parts;
};

/// What a lane has of a row.
template <class T, unsigned kColumns>
struct Row {
  T a[kColumns], g[kColumns];

  /// Adds `by` times row r of V to g.
  __device__ void add(const Descent<T>& x, unsigned r, T by) {
#pragma unroll
    for (unsigned k = 0; k < kColumns; ++k) {
      const unsigned column = k * 32 + threadIdx.x % 32;
      if (column < x.rank) g[k] += by * x.v[r * x.width + column];
    }
  }

  /// Calls f(r, k, lane): the lane that has component r, as its column k.
  template <class F>
  static __device__ void for_components(unsigned rank, F&& f) {
#pragma unroll
    for (unsigned k = 0; k < kColumns; ++k)
      for (unsigned lane = 0; lane < 32 && k * 32 + lane < rank; ++lane) f(k * 32 + lane, k, lane);
  }

  __device__ void descend(const Descent<T>& x, const T (&inverse)[kColumns]) {
    for_components(x.rank, [&](unsigned r, unsigned k, unsigned lane) {
      add(x, r, -__shfl_sync(~0u, a[k], lane));
    });
    for_components(x.rank, [&](unsigned r, unsigned k, unsigned lane) {
      // Of a component that vanished v_rr is 0: it stays zero.
      const T step = inverse[k] > 0 ? max(-a[k], g[k] * inverse[k]) : -a[k];
      if (threadIdx.x % 32 == lane) a[k] += step;
      add(x, r, -__shfl_sync(~0u, step, lane));
    });
  }
};

template <class T, unsigned kColumns>
__global__ void __launch_bounds__(kThreads) descend_rows(Descent<T> x) {
  __shared__ double sums[kWarps][32 * kColumns];
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  T of_m[kColumns], before[kColumns], after[kColumns], inverse[kColumns];
  double product[kColumns] = {};
  const auto for_columns_of_lane = [&](auto&& f) {
#pragma unroll
    for (unsigned k = 0; k < kColumns; ++k)
      if (k * 32 + lane < x.rank) f(k, k * 32 + lane);
  };
  for_columns_of_lane([&](unsigned k, unsigned r) {
    of_m[k] = static_cast<T>(x.coefficients[r]);
    before[k] = static_cast<T>(x.coefficients[x.width + r]);
    after[k] = static_cast<T>(x.coefficients[2 * x.width + r]);
    const T pivot = x.v[r * x.width + r];
    inverse[k] = pivot > 0 ? 1 / pivot : 0;
  });
  const Count step = Count{gridDim.x} * kWarps;
  for (Count i = Count{blockIdx.x} * kWarps + warp; i < x.rows; i += step) {
    const T* const m = x.m + i * x.stride;
    T* const a = x.a + i * x.stride;
    Row<T, kColumns> row{};
    if (x.moves) {
      for_columns_of_lane([&](unsigned k, unsigned r) {
        row.g[k] = m[r] * of_m[k];
        row.a[k] = a[r] * before[k];
      });
      row.descend(x, inverse);
      for_columns_of_lane([&](unsigned k, unsigned r) { a[r] = row.a[k] * after[k]; });
    }
    for_columns_of_lane([&](unsigned k, unsigned r) {
      product[k] += static_cast<double>(m[r]) * static_cast<double>(a[r]);
    });
  }
#pragma unroll
  for (unsigned k = 0; k < kColumns; ++k) sums[warp][k * 32 + lane] = product[k];
  __syncthreads();
  for (unsigned r = threadIdx.x; r < x.width; r += kThreads) {
    double total = 0;
    for (unsigned w = 0; w < kWarps; ++w) total += sums[w][r];
    x.product_parts[(Count{r / x.chunk} * gridDim.x + blockIdx.x) * x.chunk + r % x.chunk] = total;
  }
}

}  // namespace retensor::cpd
