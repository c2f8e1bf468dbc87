// Instructions of Ampere and later that CUDA C++ has no function for, on halves. Included by .cu
// files alone.
#pragma once

#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdint>

namespace retensor::tca_spmm {

inline constexpr unsigned kWarpSize = 32;
inline constexpr unsigned kWholeWarp = ~0u;

/// A lane's part of an operand of m16n8k, pairs of halves. On the left (16 x k) it holds rows
/// lane / 4 and 8 further on, of each the columns 2 (lane % 4) and the next; on the right (k x 8)
/// column lane / 4, of it the rows 2 (lane % 4) and the next; for k = 16 those 8 further on too.
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
  static_assert(kDepth == 8 || kDepth == 16);
  if constexpr (kDepth == 8)
    asm volatile(
        "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5}, {%6}, "
        "{%0,%1,%2,%3};"
        : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
        : "r"(a.pair[0]), "r"(a.pair[1]), "r"(b.pair[0]));
  else
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, "
        "{%8,%9}, {%0,%1,%2,%3};"
        : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
        : "r"(a.pair[0]), "r"(a.pair[1]), "r"(a.pair[2]), "r"(a.pair[3]), "r"(b.pair[0]),
          "r"(b.pair[1]));
}

/// kBlocks blocks of 8 x 8 halves from shared memory; lanes 8 b to 8 b + 7 name the rows (16 bytes,
/// aligned) of block b. A lane gets row lane / 4 of each, columns 2 (lane % 4) and the next.
template <int kBlocks>
__device__ inline void load_blocks(std::uint32_t (&pair)[kBlocks], const void* row) {
  static_assert(kBlocks == 2 || kBlocks == 4);
  const auto from = static_cast<std::uint32_t>(__cvta_generic_to_shared(row));
  if constexpr (kBlocks == 2)
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0,%1}, [%2];"
                 : "=r"(pair[0]), "=r"(pair[1])
                 : "r"(from)
                 : "memory");
  else
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(pair[0]), "=r"(pair[1]), "=r"(pair[2]), "=r"(pair[3])
                 : "r"(from)
                 : "memory");
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
