// 16 bytes of a row as one value: the widest access of a thread. Included by .cu files alone.
#pragma once

#include <cuda_runtime.h>

#include "common/device/warp.cuh"

namespace retensor::device {

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
  __device__ void add(const Vec& o) { v.x += o.v.x, v.y += o.v.y, v.z += o.v.z, v.w += o.v.w; }
  __device__ void multiply(const Vec& o) { v.x *= o.v.x, v.y *= o.v.y, v.z *= o.v.z, v.w *= o.v.w; }
  __device__ void fma(const Vec& a, const Vec& b) {
    v.x = fmaf(a.v.x, b.v.x, v.x), v.y = fmaf(a.v.y, b.v.y, v.y);
    v.z = fmaf(a.v.z, b.v.z, v.z), v.w = fmaf(a.v.w, b.v.w, v.w);
  }
  /// That of the lane whose number differs in the bits of `mask`; all lanes of the warp take part.
  __device__ Vec exchanged(unsigned mask) const {
    return {make_float4(
        __shfl_xor_sync(kWholeWarp, v.x, mask), __shfl_xor_sync(kWholeWarp, v.y, mask),
        __shfl_xor_sync(kWholeWarp, v.z, mask), __shfl_xor_sync(kWholeWarp, v.w, mask))};
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
  __device__ void add(const Vec& o) { v.x += o.v.x, v.y += o.v.y; }
  __device__ void multiply(const Vec& o) { v.x *= o.v.x, v.y *= o.v.y; }
  __device__ void fma(const Vec& a, const Vec& b) {
    v.x = ::fma(a.v.x, b.v.x, v.x), v.y = ::fma(a.v.y, b.v.y, v.y);
  }
  __device__ Vec exchanged(unsigned mask) const {
    return {make_double2(__shfl_xor_sync(kWholeWarp, v.x, mask),
                         __shfl_xor_sync(kWholeWarp, v.y, mask))};
  }
  __device__ void store(double* at) const { *reinterpret_cast<double2*>(at) = v; }
  __device__ void reduce_into(double* at) const { atomicAdd(at, v.x), atomicAdd(at + 1, v.y); }
};

/// Of a group of kLanes lanes that hold a row, 16 bytes each; blockIdx.y tiles wider rows.
template <class T, int kLanes>
struct RowLane {
  const unsigned lane = threadIdx.x % kLanes;
  const unsigned column = (blockIdx.y * kLanes + lane) * Vec<T>::kWidth;  ///< the first of the lane
  /// The value of lane `source` of the group; `lanes` of the warp take part.
  template <class V>
  static __device__ V from(V v, int source, unsigned lanes = kWholeWarp) {
    return of_lane<kLanes>(v, source, lanes);
  }
};

/// Calls f<kLanes>() with the lanes that cover a row of `stride` elements 16 bytes each, as far as
/// 16 go; wider rows are tiled.
template <class T, class F>
void with_lanes(unsigned stride, F&& f) {
  const unsigned vectors = stride / Vec<T>::kWidth;
  if (vectors <= 4) return f.template operator()<4>();
  if (vectors <= 8) return f.template operator()<8>();
  return f.template operator()<16>();
}

}  // namespace retensor::device
