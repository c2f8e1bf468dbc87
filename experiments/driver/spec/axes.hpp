// The axes of a spec: names, checks, and how a value enters a case.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/core/error.hpp"
#include "experiments/driver/spec/case.hpp"
#include "experiments/driver/spec/spec.hpp"

namespace retensor::driver {

/// Names of the axes that `axes` and `zip` may hold: dataset, mode, rank, dtype ...
const std::vector<std::string>& axis_names();

/// Throws ParseError at the value's place when it is no value of the axis. `operation` is an axis
/// here too; data sets are checked when the plan is made. `mode` may be the word all.
void check_axis(const std::string& axis, const Located& value);

/// Enters a checked value; `mode` must be a number here.
void set_axis(Case& c, const std::string& axis, const ParamValue& value);

/// The case's value of an axis, of `operation`, `variant`, `method` or `params.<name>`; nothing
/// where the case has none (mode or rank of an operation that uses none).
std::optional<ParamValue> axis_value(const Case& c, const std::string& axis);

/// Equal as numbers where both are numbers, else equal in type and value.
bool same_value(const ParamValue& a, const ParamValue& b);

}  // namespace retensor::driver
