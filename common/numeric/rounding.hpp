// Rounding of single precision to the operand types of tensor cores, as the hardware converts.
//
// fp16 is IEEE 754 binary16, bf16 the upper half of binary32, tf32 a binary32 whose significand has
// 10 stored bits. Every function rounds to nearest, ties to even, keeps subnormals, turns values
// from half an ulp above the largest finite one into infinity and maps every NaN to the canonical
// one of the PTX conversions (0x7fff; 0x7fffffff for tf32). tf32 is rounded as by cvt.rn.tf32.f32
// of sm_90; cvt.rna.tf32.f32, which sm_80 has, breaks ties away from zero.
#pragma once

#include <bit>
#include <cstdint>

namespace retensor {

/// Unit roundoffs of the operand types: the largest relative error of one rounding.
inline constexpr double kUnitRoundoffFp16 = 0x1p-11;
inline constexpr double kUnitRoundoffBf16 = 0x1p-8;
inline constexpr double kUnitRoundoffTf32 = 0x1p-11;
inline constexpr double kUnitRoundoffF32 = 0x1p-24;
inline constexpr double kUnitRoundoffF64 = 0x1p-53;
/// Largest absolute error of rounding a value in fp16's subnormal range.
inline constexpr double kUnderflowFp16 = 0x1p-25;

namespace rounding_detail {

inline constexpr std::uint32_t kInfinity = 0x7f800000u;
inline constexpr std::uint32_t kMagnitude = 0x7fffffffu;

/// Rounds away the lowest `dropped` bits of a finite or infinite magnitude; ties to even. A carry
/// out of the significand increments the exponent, which is the right result, infinity included.
constexpr std::uint32_t to_nearest_even(std::uint32_t bits, int dropped) {
  const std::uint32_t below_half = (1u << (dropped - 1)) - 1;
  return (bits + below_half + ((bits >> dropped) & 1u)) >> dropped;
}

}  // namespace rounding_detail

/// The binary16 pattern nearest to x.
inline std::uint16_t to_fp16_bits(float x) {
  using namespace rounding_detail;
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const std::uint32_t sign = (bits >> 16) & 0x8000u;
  const std::uint32_t magnitude = bits & kMagnitude;
  constexpr std::uint32_t overflow = 0x477ff000u;  // 65520, half an ulp above 65504
  constexpr std::uint32_t smallest_normal = 0x38800000u;
  if (magnitude > kInfinity) return 0x7fff;
  if (magnitude >= overflow) return static_cast<std::uint16_t>(sign | 0x7c00u);
  if (magnitude < smallest_normal) {
    // The ulp of 0.5 is 2^-24, that of binary16's subnormals, so this addition does the rounding.
    const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
    return static_cast<std::uint16_t>(sign | (std::bit_cast<std::uint32_t>(shifted) - 0x3f000000u));
  }
  constexpr std::uint32_t bias_difference = (127u - 15u) << 23;
  return static_cast<std::uint16_t>(sign | to_nearest_even(magnitude - bias_difference, 13));
}

/// The value of a binary16 pattern, exact.
inline float from_fp16_bits(std::uint16_t half) {
  const std::uint32_t sign = (half & 0x8000u) << 16;
  const std::uint32_t magnitude = half & 0x7fffu;
  const std::uint32_t shifted = magnitude << 13;
  if (magnitude >= 0x7c00u)
    return std::bit_cast<float>(sign | rounding_detail::kInfinity | shifted);
  return std::bit_cast<float>(sign | shifted) * 0x1p112f;  // exact, for subnormals as well
}

/// The bfloat16 pattern nearest to x.
inline std::uint16_t to_bf16_bits(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  if ((bits & rounding_detail::kMagnitude) > rounding_detail::kInfinity) return 0x7fff;
  return static_cast<std::uint16_t>(rounding_detail::to_nearest_even(bits, 16));
}

/// The value of a bfloat16 pattern, exact.
inline float from_bf16_bits(std::uint16_t half) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(half) << 16);
}

inline float round_fp16(float x) {
  return from_fp16_bits(to_fp16_bits(x));
}
inline float round_bf16(float x) {
  return from_bf16_bits(to_bf16_bits(x));
}

/// x with tf32's 10 stored significand bits, ties to even.
inline float round_tf32(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  if ((bits & rounding_detail::kMagnitude) > rounding_detail::kInfinity)
    return std::bit_cast<float>(rounding_detail::kMagnitude);
  return std::bit_cast<float>(rounding_detail::to_nearest_even(bits, 13) << 13);
}

}  // namespace retensor
