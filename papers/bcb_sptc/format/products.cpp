#include "papers/bcb_sptc/format/products.hpp"

#include "common/numeric/rounding.hpp"

namespace retensor::bcb_sptc {
namespace {

constexpr Index kEdge = kFragmentEdge;

Count fragments(Count cells) {
  return (cells + kEdge - 1) / kEdge;
}

}  // namespace

Count dense_mmas(const Grid& x, const Grid& y, Count tasks) {
  return tasks * fragments(Count{1} << x.leading_bits()) *
         fragments(Count{1} << x.trailing_bits()) * fragments(Count{1} << y.trailing_bits());
}

Count published_mmas(const Grid& x, const Contraction& modes, Count tasks) {
  const Count slices = (x.cells() + 63) / 64;
  const Count at_once = modes.contracted_x.size() == 1 ? 2 : 4;
  return tasks * ((slices + at_once - 1) / at_once);
}

reference::Precision precision_of(Arithmetic arithmetic, ValueType values) {
  // An MMA cuts a sum of t terms other than zero by t + 1 alignments of 2^-25 and one of 2^-23,
  // at most 3 x 2^-24 a term; split operands take three MMAs for a term.
  reference::Precision p{.operand_eps = kUnitRoundoffFp16,
                         .roundings = 2,
                         .accumulate_eps = 3 * kUnitRoundoffF32,
                         .underflow = kUnderflowFp16};
  if (arithmetic == Arithmetic::bf16) p.operand_eps = kUnitRoundoffBf16;
  if (arithmetic == Arithmetic::split_fp16) {
    // What the second halves leave of two operands, and their product, which is left out.
    p.operand_eps = 1.5 * kUnitRoundoffFp16 * kUnitRoundoffFp16;
    p.accumulate_eps = 9 * kUnitRoundoffF32;
  }
  if (values != ValueType::f32 && values != storage_of(arithmetic))
    p.operand_eps += values == ValueType::bf16 ? kUnitRoundoffBf16 : kUnitRoundoffFp16;
  return p;
}

}  // namespace retensor::bcb_sptc
