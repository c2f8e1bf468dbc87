// Products of 16 x 8 x 8 on the tensor core with fragments that lanes fill themselves. Included by
// .cu files alone.
//
// Lane 4 g + t holds of A the rows g and g + 8, of B the column g, of both the contracted cells 2 t
// and 2 t + 1, and of the sums rows g and g + 8, columns 2 t and 2 t + 1. For tf32 the hardware
// numbers a lane's contracted cells t and t + 4; as both operands are filled alike, that is another
// order of the same sum.
#pragma once

#include <cstdint>

#include "common/numeric/tensor_core.hpp"

namespace retensor::bcb_sptc {

/// A value as an operand: a pattern of 16 bits, tf32 as single precision, or two halves in 32 bits.
template <Arithmetic kArithmetic>
struct OperandOf {
  using Type = std::uint16_t;
};
template <>
struct OperandOf<Arithmetic::tf32> {
  using Type = std::uint32_t;
};
template <>
struct OperandOf<Arithmetic::split_fp16> {
  using Type = std::uint32_t;
};

/// Two neighbouring contracted cells as a lane holds them.
struct Pair {
  std::uint32_t first = 0, second = 0;
};

template <bool kBf16>
__device__ inline void multiply_m16n8k8(float (&c)[4], std::uint32_t a0, std::uint32_t a1,
                                        std::uint32_t b) {
  if constexpr (kBf16)
    asm volatile(
        "mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5}, {%6}, "
        "{%0,%1,%2,%3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a0), "r"(a1), "r"(b));
  else
    asm volatile(
        "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5}, {%6}, "
        "{%0,%1,%2,%3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a0), "r"(a1), "r"(b));
}

/// Adds the product of A (rows g and g + 8 of this lane) and B to the sums.
template <Arithmetic kArithmetic>
__device__ inline void multiply_add(float (&c)[4], const Pair (&a)[2], Pair b) {
  const auto low = [](Pair p) { return (p.first & 0xffffu) | p.second << 16; };
  const auto high = [](Pair p) { return p.first >> 16 | (p.second & 0xffff0000u); };
  if constexpr (kArithmetic == Arithmetic::tf32) {
    asm volatile(
        "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, "
        "{%8,%9}, {%0,%1,%2,%3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0].first), "r"(a[1].first), "r"(a[0].second), "r"(a[1].second), "r"(b.first),
          "r"(b.second));
  } else if constexpr (kArithmetic == Arithmetic::split_fp16) {
    multiply_m16n8k8<false>(c, high(a[0]), high(a[1]), low(b));
    multiply_m16n8k8<false>(c, low(a[0]), low(a[1]), high(b));
    multiply_m16n8k8<false>(c, low(a[0]), low(a[1]), low(b));
  } else {
    multiply_m16n8k8<kArithmetic == Arithmetic::bf16>(c, low(a[0]), low(a[1]), low(b));
  }
}

}  // namespace retensor::bcb_sptc
