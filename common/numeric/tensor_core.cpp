#include "common/numeric/tensor_core.hpp"

#include <algorithm>
#include <cmath>

#include "common/core/message.hpp"
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
  throw input_error("found precision '{}', expected fp16, bf16, tf32 or split_fp16", text);
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

/// The nearest half, ties to even, of a sum that a double holds; what becomes zero is +0.
float nearest_half(double sum) {
  using namespace mma_detail;
  constexpr Exponent kFractionBits = 10;
  const Exponent unit =
      std::max(leading_exponent(sum), smallest_exponent(OperandType::fp16)) - kFractionBits;
  const double units = to_integer<Rounding::nearest_even>(sum * power_of_two(-unit));
  return round_fp16(static_cast<float>(units * power_of_two(unit))) + 0.0f;
}

/// c and the products of a row and a column, whose elements lie `stride` apart, as a core adds them
/// whose accumulator is a half: in alignment a subnormal one counts as a normal number, as
/// subnormal operands do.
double aligned_sum(const float* row, const float* column, Index stride, double c) {
  using namespace mma_detail;
  constexpr int fraction_bits = hopper_model(OperandType::fp16, kFragmentEdge).fraction_bits();
  const ExponentOf exponent_of(smallest_exponent(OperandType::fp16), AlignedBy::nonzero_field);
  Exponent largest = std::max(kLowest, exponent_of(c));
  for (Index k = 0; k < kFragmentEdge; ++k)
    largest = std::max(largest, exponent_of(row[k]) + exponent_of(column[k * stride]));
  const double scale = power_of_two(fraction_bits - largest);
  double sum = std::trunc(c * scale);
  for (Index k = 0; k < kFragmentEdge; ++k)
    sum += std::trunc(double{row[k]} * column[k * stride] * scale);
  return sum * power_of_two(largest - fraction_bits);
}

}  // namespace

void multiply_add_in_halves(const Fragment& a, const Fragment& b, Fragment& c) {
  const auto left = operand(a, round_fp16), right = operand(b, round_fp16);
  for (Index i = 0; i < kFragmentEdge; ++i)
    for (Index j = 0; j < kFragmentEdge; ++j) {
      float& sum = c[i * kFragmentEdge + j];
      sum = nearest_half(aligned_sum(&left[i * kFragmentEdge], &right[j], kFragmentEdge, sum));
    }
}

}  // namespace retensor
