#include "common/numeric/tensor_core.hpp"

#include <fmt/format.h>

#include <bit>
#include <cstdint>

#include "common/core/error.hpp"
#include "common/numeric/mma.hpp"

namespace retensor {

std::string_view name(Arithmetic arithmetic) {
  switch (arithmetic) {
    case Arithmetic::fp16:
      return "fp16";
    case Arithmetic::bf16:
      return "bf16";
    case Arithmetic::tf32:
      return "tf32";
    case Arithmetic::split_fp16:
      return "split_fp16";
  }
  return "";
}

Arithmetic arithmetic_from_name(std::string_view text) {
  for (const auto arithmetic :
       {Arithmetic::fp16, Arithmetic::bf16, Arithmetic::tf32, Arithmetic::split_fp16})
    if (text == name(arithmetic)) return arithmetic;
  throw InputError(
      fmt::format("found precision '{}', expected fp16, bf16, tf32 or split_fp16", text));
}

ValueType storage_of(Arithmetic arithmetic) {
  if (arithmetic == Arithmetic::fp16) return ValueType::f16;
  return arithmetic == Arithmetic::bf16 ? ValueType::bf16 : ValueType::f32;
}

int products_of(Arithmetic arithmetic) {
  return arithmetic == Arithmetic::split_fp16 ? 3 : 1;
}

namespace {

Fragment operand(const Fragment& x, float (*round)(float)) {
  Fragment y;
  for (std::size_t k = 0; k < x.size(); ++k) y[k] = round(x[k]);
  return y;
}

/// What the first half of a split operand leaves.
float low_half(float x) {
  return round_fp16(x - round_fp16(x));
}

/// c += a b of operands that are rounded.
template <OperandType kType>
void add_product(const Fragment& a, const Fragment& b, Fragment& c) {
  mma<kType, 16, 16, 16>(a, b, c, c);
}

}  // namespace

void multiply_add(Arithmetic arithmetic, const Fragment& a, const Fragment& b, Fragment& c) {
  using enum OperandType;
  switch (arithmetic) {
    case Arithmetic::fp16:
      return add_product<fp16>(operand(a, round_fp16), operand(b, round_fp16), c);
    case Arithmetic::bf16:
      return add_product<bf16>(operand(a, round_bf16), operand(b, round_bf16), c);
    case Arithmetic::tf32:
      return add_product<tf32>(operand(a, round_tf32), operand(b, round_tf32), c);
    case Arithmetic::split_fp16:
      break;
  }
  const auto high_a = operand(a, round_fp16), high_b = operand(b, round_fp16);
  add_product<fp16>(operand(a, low_half), high_b, c);
  add_product<fp16>(high_a, operand(b, low_half), c);
  add_product<fp16>(high_a, high_b, c);
}

namespace {

Fragment negated(Fragment x) {
  for (float& value : x) value = -value;
  return x;
}

/// c + a b rounded down to single precision.
Fragment sum_from_below(const Fragment& a, const Fragment& b, const Fragment& c) {
  auto model = hopper_model(OperandType::fp16, kFragmentEdge);
  model.result = Rounding::down;
  Fragment d;
  mma<OperandType::fp16, 16, 16, 16>(a, b, c, d, model);
  return d;
}

/// Of two neighbours in single precision that enclose a sum the one whose last bit is odd, which no
/// midpoint of halves is: it rounds to a half as the sum does (Boldo and Melquiond 2008).
float odd_of(float below, float above) {
  return (std::bit_cast<std::uint32_t>(below) & 1u) != 0 ? below : above;
}

}  // namespace

void multiply_add_in_halves(const Fragment& a, const Fragment& b, Fragment& c) {
  const auto left = operand(a, round_fp16), right = operand(b, round_fp16);
  const auto below = sum_from_below(left, right, c);
  const auto above = negated(sum_from_below(negated(left), right, negated(c)));
  for (std::size_t k = 0; k < c.size(); ++k) {
    const float sum = below[k] == above[k] ? below[k] : odd_of(below[k], above[k]);
    c[k] = round_fp16(sum) + 0.0f;
  }
}

}  // namespace retensor
