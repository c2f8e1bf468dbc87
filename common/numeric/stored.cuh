// Values of a stored type (stored.hpp) as kernels read and write them. Included by .cu files alone.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

#include "common/core/types.hpp"
#include "common/numeric/stored.hpp"

namespace retensor {

/// Value p of an array.
__device__ inline float load_value(const void* values, ValueType type, Count p) {
  if (type == ValueType::f16) return __half2float(static_cast<const __half*>(values)[p]);
  if (type == ValueType::bf16)
    return __bfloat162float(static_cast<const __nv_bfloat16*>(values)[p]);
  return static_cast<const float*>(values)[p];
}
/// Rounds to nearest even.
__device__ inline void store_value(void* values, ValueType type, Count p, float x) {
  if (type == ValueType::f16)
    static_cast<__half*>(values)[p] = __float2half_rn(x);
  else if (type == ValueType::bf16)
    static_cast<__nv_bfloat16*>(values)[p] = __float2bfloat16_rn(x);
  else
    static_cast<float*>(values)[p] = x;
}

/// Nearest tf32, ties to even, as operands on the host are rounded; what is not finite stays.
__device__ inline float nearest_tf32(float x) {
  const std::uint32_t bits = __float_as_uint(x);
  if ((bits & 0x7f800000u) == 0x7f800000u) return x;
  return __uint_as_float((bits + 0xfffu + (bits >> 13 & 1u)) & ~0x1fffu);
}

}  // namespace retensor
