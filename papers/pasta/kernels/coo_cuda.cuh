// PASTA section III.B.2 on CUDA, as the section describes the kernels: one thread per nonzero (TEW,
// TS) or fiber (TTV, Algorithm 2); thread blocks of two dimensions whose x walks matrix columns and
// whose y picks fibers (TTM). MTTKRP on coordinates is ParTI's kernel, as the section says:
// common/baselines/parti; MTTKRP in HiCOO stands in hicoo_cuda.cu. The project's own forms of the
// same operations stand in tuned_cuda.cuh.
//
// Deviation from Algorithm 2: the listing starts the sum from the input value and never stores it;
// here it starts from zero and is stored once per fiber.
#pragma once

#include <cuda_runtime.h>

#include "common/core/types.hpp"
#include "common/device/loops.cuh"
#include "papers/pasta/format/patterns.hpp"

namespace retensor::pasta {

template <class T>
struct DeviceFibers {
  const Count* start = nullptr;  ///< fibers + 1
  const Index* index = nullptr;
  const T* value = nullptr;
  const T* factor = nullptr;  ///< I_n rows of `stride` elements; TTV: stride 1
  T* out = nullptr;
  Count fibers = 0;
  unsigned rank = 0, stride = 0;
};

/// z[i] = x[i] (op) y[i] for all i below n, or x[i] (op) s without y.
template <class T>
struct Elementwise {
  Arithmetic op;
  const T *x, *y;
  T s;
  T* z;
  Count n;
};

template <class T>
__device__ T apply(Arithmetic op, T a, T b) {
  switch (op) {
    case Arithmetic::add:
      return a + b;
    case Arithmetic::sub:
      return a - b;
    case Arithmetic::mul:
      return a * b;
    default:
      return a / b;
  }
}

namespace paper {

template <class T>
__global__ void tew(Arithmetic op, const T* x, const T* y, T* z, Count n) {
  const Count i = device::thread_of_grid();
  if (i < n) z[i] = apply(op, x[i], y[i]);
}

/// For different patterns: z[i] combines x[from_x[i]] and y[from_y[i]], kAbsent counting as zero.
template <class T>
__global__ void tew_general(Arithmetic op, const T* x, const T* y, const Count* from_x,
                            const Count* from_y, T* z, Count n) {
  const Count i = device::thread_of_grid();
  if (i >= n) return;
  const Count a = from_x[i], b = from_y[i];
  z[i] = apply(op, a == kAbsent ? T(0) : x[a], b == kAbsent ? T(0) : y[b]);
}

template <class T>
__global__ void ts(Arithmetic op, const T* x, T s, T* z, Count n) {
  const Count i = device::thread_of_grid();
  if (i < n) z[i] = apply(op, x[i], s);
}

/// Algorithm 2.
template <class T>
__global__ void ttv(DeviceFibers<T> x) {
  const Count f = device::thread_of_grid();
  if (f >= x.fibers) return;
  T sum = 0;
  for (Count p = x.start[f]; p < x.start[f + 1]; ++p) sum += x.value[p] * x.factor[x.index[p]];
  x.out[f] = sum;
}

template <class T>
__global__ void ttm(DeviceFibers<T> x) {
  const Count f = blockIdx.x * static_cast<Count>(blockDim.y) + threadIdx.y;
  if (f >= x.fibers) return;
  for (unsigned r = threadIdx.x; r < x.rank; r += blockDim.x) {
    T sum = 0;
    for (Count p = x.start[f]; p < x.start[f + 1]; ++p)
      sum += x.value[p] * x.factor[static_cast<Count>(x.index[p]) * x.stride + r];
    x.out[f * x.stride + r] = sum;
  }
}

}  // namespace paper
}  // namespace retensor::pasta
