// The axes of a spec: names, what they may be, and how a value enters a case.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "experiments/driver/spec/case.hpp"
#include "experiments/driver/yaml/shape.hpp"

namespace retensor::driver {

/// The members that `axes` and the groups of `zip` may have: dataset, mode, rank, dtype ... with a
/// value or a list of values each. `mode` may be the word all.
std::vector<shape::Member> axis_members();
/// One or more operations.
ShapePtr operation_shape();

/// Enters a checked value; `mode` must be a number here.
void set_axis(Case& c, const std::string& axis, const ParamValue& value);

/// The case's value of an axis, of `operation`, `variant`, `method` or `params.<name>`; nothing
/// where the case has none (mode or rank of an operation that uses none).
std::optional<ParamValue> axis_value(const Case& c, const std::string& axis);

/// Equal as numbers where both are numbers, else equal in type and value.
bool same_value(const ParamValue& a, const ParamValue& b);

}  // namespace retensor::driver
