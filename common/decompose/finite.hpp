// What a decomposition needs for its fit to mean something: squares of the values that fp64 holds,
// and a model without NaN. Apart from the sweeps, which do not look at single numbers.
#pragma once

#include <vector>

#include "common/tensor/coo.hpp"
#include "common/tensor/result.hpp"

namespace retensor::cpd {

/// Throws InputError where a value is not finite, or where the largest is so large or small that
/// the squares of the norm overflow or vanish.
void check_norm(const Values& values);

/// Whether all numbers are finite.
bool is_finite(const std::vector<double>& numbers);
bool is_finite(const std::vector<Matrix>& factors);
bool is_finite(const KruskalModel& model);

}  // namespace retensor::cpd
