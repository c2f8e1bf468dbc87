// The arithmetic that HLSTO asks of a tensor core: the paper's half precision (section VII.B.3) and
// the others of common/numeric.
#pragma once

#include "common/numeric/tensor_core.hpp"
#include "common/reference/expected.hpp"

namespace retensor::hlsto {

/// What checks assume of two chained products with values stored as `values`.
reference::Precision precision_of(Arithmetic arithmetic, ValueType values);

}  // namespace retensor::hlsto
