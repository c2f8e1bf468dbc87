// Products of 16 x 8 x 8 on the tensor core with fragments that lanes fill themselves. Included by
// .cu files alone.
//
// A lane holds what common/device/mma.cuh says of halves. For tf32 the hardware numbers a lane's
// contracted cells t and t + 4 in place of 2 t and 2 t + 1; as both operands are filled alike, that
// is another order of the same sum.
#pragma once

#include <cstdint>

#include "common/device/mma.cuh"
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

/// Adds the product of A (rows g and g + 8 of this lane) and B to the sums.
template <Arithmetic kArithmetic>
__device__ inline void multiply_add(float (&c)[4], const Pair (&a)[2], Pair b) {
  const auto low = [](Pair p) { return (p.first & 0xffffu) | p.second << 16; };
  const auto high = [](Pair p) { return p.first >> 16 | (p.second & 0xffff0000u); };
  if constexpr (kArithmetic == Arithmetic::tf32) {
    device::multiply_add<device::MmaType::tf32>(c, a[0].first, a[1].first, a[0].second, a[1].second,
                                                b.first, b.second);
  } else if constexpr (kArithmetic == Arithmetic::split_fp16) {
    device::multiply_add<device::MmaType::f16>(c, high(a[0]), high(a[1]), low(b));
    device::multiply_add<device::MmaType::f16>(c, low(a[0]), low(a[1]), high(b));
    device::multiply_add<device::MmaType::f16>(c, low(a[0]), low(a[1]), low(b));
  } else {
    constexpr auto kType =
        kArithmetic == Arithmetic::bf16 ? device::MmaType::bf16 : device::MmaType::f16;
    device::multiply_add<kType>(c, low(a[0]), low(a[1]), low(b));
  }
}

}  // namespace retensor::bcb_sptc
