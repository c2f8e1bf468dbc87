// Instructions of Ampere and later that CUDA C++ has no function for, on halves. Included by .cu
// files alone.
#pragma once

#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "common/core/types.hpp"
#include "common/device/mma.cuh"
#include "common/device/warp.cuh"

namespace retensor::tca_spmm {

using device::kWarpSize;
using device::kWholeWarp;
using device::load_blocks;

/// A lane's part of an operand of m16n8k, pairs of halves as common/device/mma.cuh tells.
template <int kDepth>
struct Left {
  std::uint32_t pair[kDepth / 4];
};
template <int kDepth>
struct Right {
  std::uint32_t pair[kDepth / 8];
};

/// sum += a b in single precision, a whole warp. A lane has of rows lane / 4 (0, 1) and 8 further
/// on (2, 3) the columns 2 (lane % 4) and the next.
template <int kDepth>
__device__ inline void multiply_add(float (&sum)[4], const Left<kDepth>& a,
                                    const Right<kDepth>& b) {
  if constexpr (kDepth == 8)
    device::multiply_add<device::MmaType::f16>(sum, a.pair[0], a.pair[1], b.pair[0]);
  else
    device::multiply_add<device::MmaType::f16>(sum, a.pair[0], a.pair[1], a.pair[2], a.pair[3],
                                               b.pair[0], b.pair[1]);
}

/// Begins the copy of 16 aligned bytes from global to shared memory; of less where `bytes` says so,
/// the rest zeros.
__device__ inline void copy_async(void* to, const void* from, unsigned bytes = 16) {
  const auto place = static_cast<std::uint32_t>(__cvta_generic_to_shared(to));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
               :
               : "r"(place), "l"(from), "r"(bytes)
               : "memory");
}
/// Waits for the `threads` of a block, whole warps, that meet at barrier 1 to 15.
__device__ inline void meet(unsigned barrier, unsigned threads) {
  asm volatile("bar.sync %0, %1;" : : "r"(barrier), "r"(threads) : "memory");
}

/// The block's dynamic shared memory, aligned as ldmatrix and vectors need it.
__device__ inline char* block_memory() {
  extern __shared__ __align__(128) char memory[];
  return memory;
}

__device__ inline std::uint16_t to_half_bits(float x) {
  return __half_as_ushort(__float2half_rn(x));
}
/// Two halves, `low` in the low bits.
__device__ inline std::uint32_t to_half_pair(float low, float high) {
  return to_half_bits(low) | static_cast<std::uint32_t>(to_half_bits(high)) << 16;
}
/// Stores eight neighbours of the result, halves or floats, from number `at` on, a multiple of 8.
__device__ inline void store_eight(void* out, bool halves, Count at, const float* v) {
  if (halves) {
    *reinterpret_cast<uint4*>(static_cast<std::uint16_t*>(out) + at) =
        make_uint4(to_half_pair(v[0], v[1]), to_half_pair(v[2], v[3]), to_half_pair(v[4], v[5]),
                   to_half_pair(v[6], v[7]));
    return;
  }
  float4* const to = reinterpret_cast<float4*>(static_cast<float*>(out) + at);
  to[0] = make_float4(v[0], v[1], v[2], v[3]);
  to[1] = make_float4(v[4], v[5], v[6], v[7]);
}
__device__ inline float2 to_floats(std::uint32_t pair) {
  return __half22float2(*reinterpret_cast<const __half2*>(&pair));
}

}  // namespace retensor::tca_spmm
