// Finds the parameters of a tensor core's arithmetic from the products of single fragments, by the
// method of Fasi, Higham, Mikaitis and Pranesh (2021): sums are chosen such that two hypotheses
// give different results. Works on any `Multiply`, hence on the emulation itself.
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "common/numeric/mma.hpp"
#include "tests/gpu/mma_fragments.hpp"

namespace retensor {

/// A device's model, if its blocks have 3 and more products, and what else it does.
struct MmaFindings {
  MmaModel model;
  bool consecutive_blocks = false;    ///< the k of a block follow each other, blocks in order
  bool products_alone_agree = false;  ///< the accumulator is aligned as the products are
  bool subnormal_operand = false, subnormal_accumulator = false;
  std::uint32_t zero_times_infinity = 0, opposite_infinities = 0, nan_operand = 0;
  std::uint32_t zero_of_negative_zeros = 0;
  // Products of fp16 reach none of these.
  bool subnormal_result = false;
  bool overflow_is_infinity = false;    ///< else the largest finite number
  bool wide_block_sums = false;         ///< a sum may pass 2^128 inside of a block and come back
  std::uint32_t tiny_negative_sum = 0;  ///< -2^-160 as a result
};

class MmaProber {
 public:
  MmaProber(const MmaKind& kind, const Multiply& multiply) : kind_(kind), multiply_(multiply) {}

  MmaFindings findings() const {
    MmaFindings f;
    f.model.block = block(f.consecutive_blocks);
    const int bits = fraction_bits();
    f.model.extra_bits = bits - kFractionBitsF32;
    f.products_alone_agree = fraction_bits_of_products() == bits;
    f.model.aligned_by = aligned_by(bits);
    f.model.alignment = alignment(bits);
    f.model.result = result();
    special(f);
    return f;
  }

 private:
  struct Product {
    float a, b;
  };
  using Products = std::map<int, Product>;  // by k

  /// Entry (0, 0) of A B + C where row 0 of A and column 0 of B have these numbers and zeros.
  float dot(const Products& products, float c) const {
    Fragments x(kind_, 1);
    for (const auto& [k, p] : products) {
      x.a[k] = p.a;
      x.b[k * kind_.n] = p.b;
    }
    x.c[0] = c;
    std::vector<float> d;
    multiply_(kind_, x, d);
    return d[0];
  }

  /// factor 2^e by two operands that are normal numbers in every type.
  static Product power(int e, float factor = 1) {
    return {std::ldexp(factor, e / 2), std::ldexp(1.0f, e - e / 2)};
  }
  static Product minus(Product p) { return {-p.a, p.b}; }

  /// A product survives beside 2^28 - 2^28 when it is added after both: whether k's block comes
  /// after that of `large`.
  bool survives(int large, int k) const {
    const float tiny = 0x1p-20f;
    return dot({{large, minus(power(28))}, {k, power(-20)}}, 0x1p28f) == tiny;
  }

  int block(bool& consecutive) const {
    int length = 1;
    while (length < kind_.k && !survives(0, length)) ++length;
    consecutive = true;
    for (int large = 0; large < kind_.k; ++large)
      for (int k = 0; k < kind_.k; ++k)
        if (k != large && survives(large, k) != (k / length > large / length)) consecutive = false;
    return length;
  }

  static constexpr int kMostBits = 28;  // 2^-28 is the least product of normal fp16 numbers

  /// The smallest 2^-f that survives beside 1 - 1, the 1 being the accumulator.
  int fraction_bits() const {
    int f = 0;
    while (f < kMostBits && dot({{0, power(-f - 1)}, {1, minus(power(0))}}, 1) != 0) ++f;
    return f;
  }
  int fraction_bits_of_products() const {
    int f = 0;
    while (f < kMostBits && dot({{0, power(-f - 1)}, {1, minus(power(0))}, {2, power(0)}}, 0) != 0)
      ++f;
    return f;
  }

  /// Whether half a unit of alignment is kept beside the product of `left`, a subnormal or zero,
  /// and a large number, the unit being that of an alignment by exponent fields.
  bool kept_beside(float left, int bits) const {
    const int up = kind_.type == OperandType::fp16 ? 15 : 100;
    const int exponent = static_cast<int>(smallest_exponent(kind_.type)) + up;
    const Product large{left, std::ldexp(1.0f, up)}, small = power(exponent - bits - 1);
    return dot({{0, large}, {1, small}}, 0) != dot({{0, large}}, 0);
  }

  float smallest_subnormal() const {
    const int bits = kind_.type == OperandType::bf16 ? 7 : 10;
    return std::ldexp(1.0f, static_cast<int>(smallest_exponent(kind_.type)) - bits);
  }

  AlignedBy aligned_by(int bits) const {
    // 2.25 has the exponent 1, its operands 0 and 0.
    const Product p{1.5f, 1.5f};
    if (dot({{0, p}, {1, minus(p)}, {2, power(-bits)}}, 0) == 0) return AlignedBy::leading_product;
    if (kept_beside(smallest_subnormal(), bits)) return AlignedBy::leading_operand;
    return kept_beside(0, bits) ? AlignedBy::nonzero_field : AlignedBy::field;
  }

  /// By the integers that 1.75 and -1.75 units of alignment become.
  Rounding alignment(int bits) const {
    const auto aligned = [&](float units) {
      return std::ldexp(dot({{0, power(-bits, units)}, {1, minus(power(0))}}, 1), bits);
    };
    if (aligned(1.75f) == 2) return Rounding::nearest_even;
    return aligned(-1.75f) == -1 ? Rounding::toward_zero : Rounding::down;
  }

  /// 2 + 1.5 ulp lies between an odd and an even number.
  Rounding result() const {
    const float c = 1 + 3 * 0x1p-23f, even = 2 + 0x1p-21f;
    if (dot({{0, power(0)}}, c) == even) return Rounding::nearest_even;
    return dot({{0, minus(power(0))}}, -c) == -even ? Rounding::down : Rounding::toward_zero;
  }

  void special(MmaFindings& f) const {
    constexpr float infinity = std::numeric_limits<float>::infinity();
    constexpr float largest = std::numeric_limits<float>::max();
    const auto bits = [&](const Products& p, float c) {
      return std::bit_cast<std::uint32_t>(dot(p, c));
    };
    const float subnormal = smallest_subnormal();
    f.subnormal_operand = dot({{0, {subnormal, 1}}}, 0) == subnormal;
    f.subnormal_accumulator = dot({}, 0x1p-149f) == 0x1p-149f;
    f.zero_times_infinity = bits({{0, {0, infinity}}}, 1);
    f.opposite_infinities = bits({{0, {1, infinity}}}, -infinity);
    f.nan_operand = bits({{0, {std::numeric_limits<float>::quiet_NaN(), 1}}}, 1);
    Products zeros;
    for (int k = 0; k < kind_.k; ++k) zeros[k] = {-0.0f, 1};
    f.zero_of_negative_zeros = bits(zeros, -0.0f);
    if (kind_.type == OperandType::fp16) return;
    f.subnormal_result = dot({{0, power(-140)}}, 0) == 0x1p-140f;
    f.overflow_is_infinity = dot({{0, power(127)}}, largest) == infinity;
    f.wide_block_sums = dot({{0, power(127)}, {1, minus(power(127))}}, 0x1p127f) == 0x1p127f;
    f.tiny_negative_sum = bits({{0, minus(power(-160))}}, 0);
  }

  const MmaKind& kind_;
  const Multiply& multiply_;
};

inline const char* name(AlignedBy rule) {
  constexpr std::array<const char*, 4> names{"field", "nonzero_field", "leading_operand",
                                             "leading_product"};
  return names[static_cast<std::size_t>(rule)];
}
inline const char* name(Rounding rounding) {
  constexpr std::array<const char*, 3> names{"toward_zero", "down", "nearest_even"};
  return names[static_cast<std::size_t>(rounding)];
}

inline std::string text(const MmaModel& model) {
  return fmt::format("block {}, extra bits {}, aligned by {} {}, result {}", model.block,
                     model.extra_bits, name(model.aligned_by), name(model.alignment),
                     name(model.result));
}

}  // namespace retensor
