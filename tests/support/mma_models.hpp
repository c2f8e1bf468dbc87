// Tensor cores of other generations beside common/numeric/mma.hpp, operands rounded for them, and
// how far a result may lie from fp64.
#pragma once

#include <algorithm>
#include <cstdint>

#include "common/numeric/mma.hpp"

namespace retensor {

/// x rounded to the operand type: to nearest, ties to even.
inline float round_operand(OperandType type, float x) {
  switch (type) {
    case OperandType::fp16:
      return round_fp16(x);
    case OperandType::bf16:
      return round_bf16(x);
    case OperandType::tf32:
      return round_tf32(x);
  }
  throw LogicError("no such operand type");
}

/// Hypotheses: the parameters of V100, which has fp16 alone, and of A100, quoted from memory of the
/// publication that mma.hpp names.
constexpr MmaModel volta_model() {
  return {.block = 4, .extra_bits = 0};
}
constexpr MmaModel ampere_model(OperandType type) {
  return {.block = type == OperandType::tf32 ? 4 : 8, .extra_bits = 1};
}

/// Bound of |D - (A B + C)| of one entry relative to its weight
///   max(|c|, 2^-126) + sum over k of max(|a_k|, tiny) max(|b_k|, tiny),
/// tiny being the operand type's smallest normal number; holds while no sum reaches 2^128. In each
/// block every term loses less than one unit of alignment and the sum less than one ulp.
constexpr double mma_error_bound(const MmaModel& model, int k) {
  const int blocks = (k + model.block - 1) / model.block, terms = std::min(model.block, k) + 1;
  const double unit = 1.0 / static_cast<double>(std::uint64_t{1} << model.fraction_bits());
  const double first_order = blocks * (terms * unit + 0x1p-23);
  return first_order * (1 + first_order) / (1 - first_order);
}

}  // namespace retensor
