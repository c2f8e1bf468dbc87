// The arithmetic that HLSTO asks of a tensor core: the paper's half precision (section VII.B.3) and
// the others of common/numeric.
#pragma once

#include <cstdint>

#include "common/numeric/tensor_core.hpp"
#include "common/reference/expected.hpp"

namespace retensor::hlsto {

/// Parts of an operand: two halves where it is split.
constexpr int parts_of(Arithmetic arithmetic) {
  return arithmetic == Arithmetic::split_fp16 ? 2 : 1;
}

/// Part `part` of x in 16 bits; not of tf32.
std::uint16_t operand_bits(float x, Arithmetic arithmetic, int part);

/// What checks assume of two chained products with values stored as `values`.
reference::Precision precision_of(Arithmetic arithmetic, ValueType values);

}  // namespace retensor::hlsto
