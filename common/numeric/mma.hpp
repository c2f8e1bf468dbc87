// Emulated tensor core: D = A B + C for one fragment, operands fp16, bf16 or tf32, C and D fp32.
//
// Matrices are small row-major arrays of float whose values have been rounded to the operand type:
// binary32 holds every fp16, bf16 and tf32 value exactly, so one code path serves all three, and
// patterns of 16 bits could not hold tf32.
//
// `mma` is what tensor cores do, bit for bit as far as `MmaModel` is right: the error of methods is
// to be the hardware's. It truncates, so its sums are biased toward zero, and it cuts all terms of
// a block at the same place.
//
// Semantics of `mma` for one entry of D. Products are exact. The k products are taken in blocks of
// `block`, in the order of k. In a block the products and the accumulator are aligned to the
// largest exponent e among them (a product's is the sum of its operands' exponents) and cut toward
// zero to multiples of 2^(e - 23 - extra_bits); these are added exactly, and the sum, cut to fp32,
// is the accumulator of the next block. Subnormal operands, accumulators and results are kept. A
// sum of 2^128 and more becomes infinity; a sum of zero, or cut to zero, is +0; NaN operands,
// inf * 0 and inf - inf give the NaN 0x7fffffff.
//
// Source of the form: M. Fasi, N. J. Higham, M. Mikaitis, S. Pranesh (2021), "Numerical behavior of
// NVIDIA tensor cores". The parameters of compute capability 9.0 were probed on an H200 by
// tests/gpu/mma_test.cpp, which compares 10^6 random fragments of each shape and type with the
// device and fails where a bit differs. It found none there on 2026-11-22, the block of four and +0
// for sums cut to zero included (ci/logs/2026-11-22-gpu-test-hlsto.log).
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <span>
#include <type_traits>

#include "common/core/error.hpp"
#include "common/numeric/rounding.hpp"

namespace retensor {

enum class OperandType { fp16, bf16, tf32 };

/// Exponent of the smallest normal number.
constexpr std::int64_t smallest_exponent(OperandType type) {
  return type == OperandType::fp16 ? -14 : -126;
}
inline constexpr std::int64_t kSmallestExponentF32 = -126;
/// Fraction bits of binary32.
inline constexpr int kFractionBitsF32 = 23;

/// Whether the hardware has the fragment shape: by WMMA m16n16k16 for fp16 and bf16, m16n16k8 for
/// tf32; by mma.sync m16n8k16 and m16n8k8 for fp16 and bf16, m16n8k8 and m16n8k4 for tf32.
constexpr bool mma_shape_exists(OperandType type, int m, int n, int k) {
  const bool tf32 = type == OperandType::tf32;
  const int longest = tf32 ? 8 : 16;
  return m == 16 && (k == longest ? n == 8 || n == 16 : n == 8 && k == longest / 2);
}

enum class Rounding { toward_zero, down, nearest_even };

/// Which exponent of a product (and of the accumulator) takes part in the search of the largest.
enum class AlignedBy {
  field,            ///< sum of the operands' exponents; subnormals and zeros have the smallest one
  nonzero_field,    ///< the same, but zero products and a zero accumulator take no part
  leading_operand,  ///< subnormal operands count by their leading bit; zeros take no part
  leading_product   ///< the product's own leading bit; zeros take no part
};

/// Parameters of a tensor core's arithmetic.
struct MmaModel {
  int block = 1;       ///< products that are added at once
  int extra_bits = 0;  ///< fraction bits kept in alignment beyond the 23 of fp32, 0 to 20
  AlignedBy aligned_by = AlignedBy::nonzero_field;
  Rounding alignment = Rounding::toward_zero;
  Rounding result = Rounding::toward_zero;

  constexpr int fraction_bits() const { return kFractionBitsF32 + extra_bits; }
  bool operator==(const MmaModel&) const = default;
};

/// The default: compute capability 9.0, for fragments of n columns. WMMA's m16n16k8 of tf32 adds
/// four products at a time where mma.sync's m16n8k8 adds eight.
constexpr MmaModel hopper_model(OperandType type, int n) {
  if (type == OperandType::tf32) return {.block = n == 16 ? 4 : 8, .extra_bits = 2};
  return {.block = 16, .extra_bits = 2};
}

namespace mma_detail {

// Exponents have 64 bits, as wide as the doubles beside them, so that compilers vectorise the
// loops.
using Exponent = std::int64_t;

/// Of zeros that take no part: even beside the largest operand below `kLowest`.
inline constexpr Exponent kNoExponent = -800;
/// Below every nonzero product, the smallest of which is that of two tf32 subnormals, 2^-272.
inline constexpr Exponent kLowest = -400;
/// Of infinities and NaNs: any scale keeps them, and the sum of two still has a finite one.
inline constexpr Exponent kNotFinite = 256;

/// floor(log2 |x|) of a normal number; below `kLowest` for 0.
inline Exponent leading_exponent(double x) {
  const auto biased = static_cast<Exponent>((std::bit_cast<std::uint64_t>(x) >> 52) & 0x7ffu);
  return std::min(biased - 1023, kNotFinite);
}

/// 2^e for a normal result.
inline double power_of_two(Exponent e) {
  return std::bit_cast<double>(static_cast<std::uint64_t>(1023 + e) << 52);
}

/// Exponent by which numbers take part in the search of the largest; the smallest normal one is
/// 2^smallest.
struct ExponentOf {
  ExponentOf(Exponent smallest, AlignedBy rule)
      : lowest(rule == AlignedBy::field || rule == AlignedBy::nonzero_field ? smallest : kLowest),
        of_zero(rule == AlignedBy::field ? smallest : kNoExponent) {}
  Exponent operator()(double x) const {
    return x == 0 ? of_zero : std::max(leading_exponent(x), lowest);
  }
  Exponent lowest, of_zero;
};

template <Rounding kRounding>
double to_integer(double x) {
  if constexpr (kRounding == Rounding::toward_zero) return std::trunc(x);
  if constexpr (kRounding == Rounding::down) return std::floor(x);
  return std::nearbyint(x);
}

/// x rounded to fp32; |x| of 2^128 and more becomes infinity, a NaN the canonical one, -0 +0.
template <Rounding kRounding>
float to_f32(double x) {
  const Exponent ulp = std::max(leading_exponent(x), kSmallestExponentF32) - kFractionBitsF32;
  const auto rounded =
      static_cast<float>(to_integer<kRounding>(x * power_of_two(-ulp)) * power_of_two(ulp));
  return std::isnan(rounded) ? std::bit_cast<float>(rounding_detail::kMagnitude) : rounded + 0.0f;
}

/// A matrix and the exponents of its values.
template <int kSize>
struct Aligned {
  Aligned(std::span<const float, kSize> x, const ExponentOf& exponent_of) {
    for (int i = 0; i < kSize; ++i) {
      value[i] = x[i];
      exponent[i] = exponent_of(value[i]);
    }
  }
  double value[kSize];
  Exponent exponent[kSize];
};

/// d[j] += a[0] b[0][j] + ... of one block of `terms` products, for the N entries of a row. Aligned
/// terms are integers below 2^(2 + 23 + 20), so sums in double are exact.
template <Rounding kAlignment, Rounding kResult, int N>
void add_block(const MmaModel& model, int terms, const double* a, const Exponent* a_exponent,
               const double* b, const Exponent* b_exponent, float* d) {
  const ExponentOf exponent_of(kSmallestExponentF32, model.aligned_by);
  const Exponent fraction_bits = model.fraction_bits();
  Exponent largest[N];
  double scale[N], sum[N];
  for (int j = 0; j < N; ++j) largest[j] = std::max(kLowest, exponent_of(d[j]));
  if (model.aligned_by == AlignedBy::leading_product) {
    for (int k = 0; k < terms; ++k)
      for (int j = 0; j < N; ++j)
        largest[j] = std::max(largest[j], leading_exponent(a[k] * b[k * N + j]));
  } else {
    for (int k = 0; k < terms; ++k)
      for (int j = 0; j < N; ++j)
        largest[j] = std::max(largest[j], a_exponent[k] + b_exponent[k * N + j]);
  }
  for (int j = 0; j < N; ++j) {
    scale[j] = power_of_two(fraction_bits - largest[j]);
    sum[j] = 0.0 + to_integer<kAlignment>(d[j] * scale[j]);  // -0 becomes +0
  }
  for (int k = 0; k < terms; ++k)
    for (int j = 0; j < N; ++j) sum[j] += to_integer<kAlignment>(a[k] * b[k * N + j] * scale[j]);
  for (int j = 0; j < N; ++j)
    d[j] = to_f32<kResult>(sum[j] * power_of_two(largest[j] - fraction_bits));
}

/// d += A B; a: rows x k, b: k x N, d: rows x N.
template <Rounding kAlignment, Rounding kResult, int N>
void add_product(const MmaModel& model, int rows, int k, const double* a,
                 const Exponent* a_exponent, const double* b, const Exponent* b_exponent,
                 float* d) {
  for (int i = 0; i < rows; ++i)
    for (int first = 0; first < k; first += model.block)
      add_block<kAlignment, kResult, N>(model, std::min(model.block, k - first), a + i * k + first,
                                        a_exponent + i * k + first, b + first * N,
                                        b_exponent + first * N, d + i * N);
}

/// Calls f with the rounding as a compile-time constant.
template <class F>
void with_rounding(Rounding rounding, const F& f) {
  switch (rounding) {
    case Rounding::toward_zero:
      return f(std::integral_constant<Rounding, Rounding::toward_zero>{});
    case Rounding::down:
      return f(std::integral_constant<Rounding, Rounding::down>{});
    case Rounding::nearest_even:
      return f(std::integral_constant<Rounding, Rounding::nearest_even>{});
  }
}

}  // namespace mma_detail

/// D = A B + C with the arithmetic of a tensor core. a: M x K and b: K x N, values of the operand
/// type (unchecked); c, d: M x N; all row-major. d may be c. K is that of a shape or its double,
/// which stands for two instructions in the order of k: m16n16k16 of tf32 is two m16n16k8. Throws
/// LogicError for a model outside of its ranges.
template <OperandType kType, int M, int N, int K>
void mma(std::span<const float, M * K> a, std::span<const float, K * N> b,
         std::span<const float, M * N> c, std::span<float, M * N> d,
         const MmaModel& model = hopper_model(kType, N)) {
  constexpr int of_instruction = mma_shape_exists(kType, M, N, K) ? K : K / 2;
  static_assert(mma_shape_exists(kType, M, N, of_instruction));
  if (model.block < 1 || model.extra_bits < 0 || model.extra_bits > 20)
    throw LogicError("an MMA model has blocks of 1 and more products and 0 to 20 extra bits");
  const mma_detail::ExponentOf exponent_of(smallest_exponent(kType), model.aligned_by);
  const mma_detail::Aligned<M * K> left(a, exponent_of);
  const mma_detail::Aligned<K * N> right(b, exponent_of);
  if (d.data() != c.data()) std::copy(c.begin(), c.end(), d.begin());
  MmaModel chained = model;
  chained.block = std::min(model.block, of_instruction);
  mma_detail::with_rounding(model.alignment, [&](auto alignment) {
    mma_detail::with_rounding(model.result, [&](auto result) {
      mma_detail::add_product<alignment, result, N>(chained, M, K, left.value, left.exponent,
                                                    right.value, right.exponent, d.data());
    });
  });
}

}  // namespace retensor
