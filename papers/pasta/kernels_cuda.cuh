// PASTA section III.B.2 on CUDA, in two families.
//
// paper::   the kernels as the section and its sources describe them: one thread per nonzero (TEW,
//           TS) or fiber (TTV, Algorithm 2); thread blocks of two dimensions whose x walks matrix
//           columns and whose y picks fibers (TTM) or nonzeros (MTTKRP, one atomicAdd per element).
// tuned::   the same operations with 16-byte accesses. A group of lanes owns a row of the result
//           16 bytes a lane, loads the indices of as many nonzeros as it has lanes in one coalesced
//           access and passes them round by shuffles; several factor rows are in flight at a time.
//           MTTKRP adds up a run of nonzeros with equal output row in registers and sends one
//           vector reduction per run.
//
// Deviation from Algorithm 2: the listing starts the sum from the input value and never stores it;
// here it starts from zero and is stored once per fiber.
#pragma once

#include <cuda_runtime.h>

#include "common/core/types.hpp"
#include "papers/pasta/kernels.hpp"

namespace retensor::pasta {

inline constexpr int kMaxOther = kMaxOrder - 1;

/// Nonzeros on the device with the factors of the modes that are gathered. Rows of `factor` and
/// `out` are `stride` elements apart, a multiple of 16 bytes, padded with zeros.
template <class T>
struct DeviceMttkrp {
  const Index* row = nullptr;
  const Index* other[kMaxOther] = {};
  const T* factor[kMaxOther] = {};
  const T* value = nullptr;
  T* out = nullptr;
  Count nnz = 0;
  unsigned rank = 0, stride = 0;
  int others = 0;
};

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
  const Count i = blockIdx.x * static_cast<Count>(blockDim.x) + threadIdx.x;
  if (i < n) z[i] = apply(op, x[i], y[i]);
}

template <class T>
__global__ void ts(Arithmetic op, const T* x, T s, T* z, Count n) {
  const Count i = blockIdx.x * static_cast<Count>(blockDim.x) + threadIdx.x;
  if (i < n) z[i] = apply(op, x[i], s);
}

/// Algorithm 2.
template <class T>
__global__ void ttv(DeviceFibers<T> x) {
  const Count f = blockIdx.x * static_cast<Count>(blockDim.x) + threadIdx.x;
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

template <class T>
__global__ void mttkrp(DeviceMttkrp<T> x) {
  const Count step = static_cast<Count>(gridDim.x) * blockDim.y;
  for (Count p = blockIdx.x * static_cast<Count>(blockDim.y) + threadIdx.y; p < x.nnz; p += step)
    for (unsigned r = threadIdx.x; r < x.rank; r += blockDim.x) {
      T product = x.value[p];
      for (int k = 0; k < x.others; ++k)
        product *= x.factor[k][static_cast<Count>(x.other[k][p]) * x.stride + r];
      atomicAdd(&x.out[static_cast<Count>(x.row[p]) * x.stride + r], product);
    }
}

}  // namespace paper

namespace tuned {

/// 16 bytes of a row.
template <class T>
struct Vec;
template <>
struct Vec<float> {
  static constexpr unsigned kWidth = 4;
  float4 v;
  __device__ static Vec load(const float* at) {
    return {__ldg(reinterpret_cast<const float4*>(at))};
  }
  __device__ static Vec splat(float s) { return {make_float4(s, s, s, s)}; }
  __device__ void multiply(const Vec& o) { v.x *= o.v.x, v.y *= o.v.y, v.z *= o.v.z, v.w *= o.v.w; }
  __device__ void add(const Vec& o) { v.x += o.v.x, v.y += o.v.y, v.z += o.v.z, v.w += o.v.w; }
  __device__ void fma(float s, const Vec& o) {
    v.x += s * o.v.x, v.y += s * o.v.y, v.z += s * o.v.z, v.w += s * o.v.w;
  }
  __device__ void store(float* at) const { *reinterpret_cast<float4*>(at) = v; }
  __device__ void reduce_into(float* at) const {
#if __CUDA_ARCH__ >= 900
    atomicAdd(reinterpret_cast<float4*>(at), v);  // one 16-byte reduction, Hopper and later
#else
    atomicAdd(at, v.x), atomicAdd(at + 1, v.y), atomicAdd(at + 2, v.z), atomicAdd(at + 3, v.w);
#endif
  }
};
template <>
struct Vec<double> {
  static constexpr unsigned kWidth = 2;
  double2 v;
  __device__ static Vec load(const double* at) {
    return {__ldg(reinterpret_cast<const double2*>(at))};
  }
  __device__ static Vec splat(double s) { return {make_double2(s, s)}; }
  __device__ void multiply(const Vec& o) { v.x *= o.v.x, v.y *= o.v.y; }
  __device__ void add(const Vec& o) { v.x += o.v.x, v.y += o.v.y; }
  __device__ void fma(double s, const Vec& o) { v.x += s * o.v.x, v.y += s * o.v.y; }
  __device__ void store(double* at) const { *reinterpret_cast<double2*>(at) = v; }
  __device__ void reduce_into(double* at) const { atomicAdd(at, v.x), atomicAdd(at + 1, v.y); }
};

/// Element-wise on 16-byte vectors; the tail of n % width elements falls to the last threads.
template <class T, class F>
__device__ void stream_vectors(Count n, F&& element) {
  constexpr unsigned kWidth = Vec<T>::kWidth;
  const Count vectors = n / kWidth;
  const Count step = static_cast<Count>(gridDim.x) * blockDim.x;
  const Count first = blockIdx.x * static_cast<Count>(blockDim.x) + threadIdx.x;
  for (Count i = first; i < vectors; i += step) element.vector(i * kWidth);
  for (Count i = vectors * kWidth + first; i < n; i += step) element.scalar(i);
}

template <class T>
struct TewElement {
  Arithmetic op;
  const T *x, *y;
  T* z;
  __device__ void scalar(Count i) const { z[i] = apply(op, x[i], y[i]); }
  __device__ void vector(Count i) const {
    constexpr unsigned kWidth = Vec<T>::kWidth;
    const auto a = Vec<T>::load(x + i), b = Vec<T>::load(y + i);
    Vec<T> c;
    const T* pa = reinterpret_cast<const T*>(&a);
    const T* pb = reinterpret_cast<const T*>(&b);
    T* pc = reinterpret_cast<T*>(&c);
#pragma unroll
    for (unsigned e = 0; e < kWidth; ++e) pc[e] = apply(op, pa[e], pb[e]);
    c.store(z + i);
  }
};

template <class T>
struct TsElement {
  Arithmetic op;
  const T* x;
  T s;
  T* z;
  __device__ void scalar(Count i) const { z[i] = apply(op, x[i], s); }
  __device__ void vector(Count i) const {
    const auto a = Vec<T>::load(x + i);
    Vec<T> c;
    const T* pa = reinterpret_cast<const T*>(&a);
    T* pc = reinterpret_cast<T*>(&c);
#pragma unroll
    for (unsigned e = 0; e < Vec<T>::kWidth; ++e) pc[e] = apply(op, pa[e], s);
    c.store(z + i);
  }
};

template <class T, class Element>
__global__ void elementwise(Element element, Count n) {
  stream_vectors<T>(n, element);
}

/// Lanes of one group inside its warp, for shuffles.
template <int kLanes>
__device__ unsigned group_mask() {
  if constexpr (kLanes == 32) {
    return 0xffffffffu;
  } else {
    const unsigned first = (threadIdx.x % 32) / kLanes * kLanes;
    return ((1u << kLanes) - 1) << first;
  }
}

/// TTV: kLanes threads a fiber, chosen from the mean fiber length.
template <class T, int kLanes>
__global__ void ttv(DeviceFibers<T> x) {
  const Count f = (blockIdx.x * static_cast<Count>(blockDim.x) + threadIdx.x) / kLanes;
  if (f >= x.fibers) return;
  const unsigned lane = threadIdx.x % kLanes;
  T sum = 0;
  const Count end = x.start[f + 1];
  for (Count p = x.start[f] + lane; p < end; p += kLanes)
    sum += x.value[p] * __ldg(x.factor + x.index[p]);
#pragma unroll
  for (int offset = kLanes / 2; offset > 0; offset /= 2)
    sum += __shfl_down_sync(group_mask<kLanes>(), sum, offset, kLanes);
  if (lane == 0) x.out[f] = sum;
}

inline constexpr int kInFlight = 4;  // factor rows loaded before the first is used

/// TTM: a group of kLanes lanes a fiber, 16 bytes of the row a lane; blockIdx.y tiles the rank.
template <class T, int kLanes>
__global__ void ttm(DeviceFibers<T> x) {
  const Count f = (blockIdx.x * static_cast<Count>(blockDim.x) + threadIdx.x) / kLanes;
  if (f >= x.fibers) return;
  const unsigned lane = threadIdx.x % kLanes, mask = group_mask<kLanes>();
  const unsigned column = (blockIdx.y * kLanes + lane) * Vec<T>::kWidth;
  const bool active = column < x.stride;
  auto sum = Vec<T>::splat(0);
  const Count end = x.start[f + 1];
  for (Count base = x.start[f]; base < end; base += kLanes) {
    const Count mine = base + lane < end ? base + lane : end - 1;
    const Index index = x.index[mine];
    const T value = base + lane < end ? x.value[mine] : T(0);
    const int n = end - base < kLanes ? static_cast<int>(end - base) : kLanes;
    for (int t = 0; t < n; t += kInFlight) {
      Vec<T> row[kInFlight];
#pragma unroll
      for (int u = 0; u < kInFlight; ++u) {
        const Count at = __shfl_sync(mask, index, t + u, kLanes);
        if (active) row[u] = Vec<T>::load(x.factor + at * x.stride + column);
      }
#pragma unroll
      for (int u = 0; u < kInFlight; ++u) {
        // Lanes past the fiber's end hold value 0; t + u wraps round only there.
        const T v = __shfl_sync(mask, value, t + u, kLanes);
        if (active && t + u < n) sum.fma(v, row[u]);
      }
    }
  }
  if (active) sum.store(x.out + f * x.stride + column);
}

/// MTTKRP: a group of lanes takes `chunk` consecutive nonzeros and reduces runs of equal output
/// row. kOthers gathered modes are unrolled; 0 reads their number at run time.
template <class T, int kLanes, int kOthers>
__global__ void mttkrp(DeviceMttkrp<T> x, unsigned chunk) {
  const Count group = (blockIdx.x * static_cast<Count>(blockDim.x) + threadIdx.x) / kLanes;
  const Count begin = group * chunk;
  if (begin >= x.nnz) return;
  const Count end = begin + chunk < x.nnz ? begin + chunk : x.nnz;
  const unsigned lane = threadIdx.x % kLanes, mask = group_mask<kLanes>();
  const unsigned column = (blockIdx.y * kLanes + lane) * Vec<T>::kWidth;
  const bool active = column < x.stride;
  const int others = kOthers > 0 ? kOthers : x.others;
  constexpr int kHeld = kOthers > 0 ? kOthers : kMaxOther;

  Index current = x.row[begin];
  auto sum = Vec<T>::splat(0);
  for (Count base = begin; base < end; base += kLanes) {
    // A lane past the end repeats the last nonzero with value 0, so that it adds nothing.
    const Count mine = base + lane < end ? base + lane : end - 1;
    const Index row = x.row[mine];
    const T value = base + lane < end ? x.value[mine] : T(0);
    Index index[kHeld];
#pragma unroll
    for (int k = 0; k < kHeld; ++k)
      if (k < others) index[k] = x.other[k][mine];
    const int n = end - base < kLanes ? static_cast<int>(end - base) : kLanes;
    for (int t = 0; t < n; t += kInFlight) {
      Vec<T> product[kInFlight];
#pragma unroll
      for (int u = 0; u < kInFlight; ++u)
        product[u] = Vec<T>::splat(__shfl_sync(mask, value, (t + u) % kLanes, kLanes));
#pragma unroll
      for (int k = 0; k < kHeld; ++k) {
        if (k >= others) continue;
        Vec<T> factor[kInFlight];
#pragma unroll
        for (int u = 0; u < kInFlight; ++u) {
          const Count at = __shfl_sync(mask, index[k], (t + u) % kLanes, kLanes);
          if (active) factor[u] = Vec<T>::load(x.factor[k] + at * x.stride + column);
        }
#pragma unroll
        for (int u = 0; u < kInFlight; ++u) product[u].multiply(factor[u]);
      }
#pragma unroll
      for (int u = 0; u < kInFlight; ++u) {
        const Index at = __shfl_sync(mask, row, (t + u) % kLanes, kLanes);
        if (t + u >= n) continue;
        if (at != current) {
          if (active) sum.reduce_into(x.out + static_cast<Count>(current) * x.stride + column);
          current = at;
          sum = product[u];
        } else {
          sum.add(product[u]);
        }
      }
    }
  }
  if (active) sum.reduce_into(x.out + static_cast<Count>(current) * x.stride + column);
}

}  // namespace tuned
}  // namespace retensor::pasta
