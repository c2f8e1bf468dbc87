// What products of blocks ask of a tensor core: their number, and the error that checks assume.
#pragma once

#include "common/numeric/tensor_core.hpp"
#include "common/reference/expected.hpp"
#include "common/tensor/einsum.hpp"
#include "papers/bcb_sptc/format/bcb.hpp"

namespace retensor::bcb_sptc {

/// Products that the tasks take when no fragment is left out, of the operands' grids.
Count dense_mmas(const Grid& x, const Grid& y, Count tasks);
/// Products that section IV.B counts: slices of 64 cells, two at a time with one contracted mode,
/// four with more. It does not cover all pairs of free cells, see the README.
Count published_mmas(const Grid& x, const Contraction& modes, Count tasks);

/// What checks assume with values stored as `values`.
reference::Precision precision_of(Arithmetic arithmetic, ValueType values);

}  // namespace retensor::bcb_sptc
