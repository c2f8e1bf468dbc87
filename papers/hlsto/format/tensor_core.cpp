#include "papers/hlsto/format/tensor_core.hpp"

#include "common/numeric/rounding.hpp"

namespace retensor::hlsto {

std::uint16_t operand_bits(float x, Arithmetic arithmetic, int part) {
  if (arithmetic == Arithmetic::bf16) return to_bf16_bits(x);
  return to_fp16_bits(part == 0 ? x : x - round_fp16(x));
}

reference::Precision precision_of(Arithmetic arithmetic, ValueType values) {
  // Four operands are rounded: a value, a row of C, their sum, a row of B. Tensor cores cut off
  // sums instead of rounding them.
  reference::Precision p{.operand_eps = kUnitRoundoffFp16,
                         .roundings = 4,
                         .accumulate_eps = 2 * kUnitRoundoffF32,
                         .underflow = kUnderflowFp16};
  if (arithmetic == Arithmetic::bf16 || values == ValueType::bf16)
    p.operand_eps = kUnitRoundoffBf16;
  if (arithmetic == Arithmetic::split_fp16 && values == ValueType::f32) {
    // Four remainders of the second halves and two products of second halves that are left out.
    p.operand_eps = kUnitRoundoffFp16 * kUnitRoundoffFp16;
    p.roundings = 6;
  }
  return p;
}

}  // namespace retensor::hlsto
