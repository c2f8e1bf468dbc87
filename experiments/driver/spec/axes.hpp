// The axes of a spec: names, what they may be, and how a value enters a case.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/driver/spec/case.hpp"
#include "experiments/driver/yaml/shape.hpp"

namespace retensor::driver {

/// The members that `axes` and the groups of `zip` may have: dataset, mode, rank, dtype ... with a
/// value or a list of values each. `mode` may be the word all.
std::vector<shape::Member> axis_members();
/// One or more operations.
ShapePtr operation_shape();

/// Whether problems of the operation have the axis: `rank` of mttkrp, not of ttv.
bool takes_axis(Operation operation, const std::string& axis);
/// Whether the word says what the operation computes: an einsum of a contraction, one of the
/// elementwise variants of tew and ts.
bool takes_variant(Operation operation, std::string_view variant);
/// What tew and ts compute where nothing is said; empty for other operations.
std::string standard_variant(Operation operation);

/// Enters a checked value; `mode` must be a number here.
void set_axis(Case& c, const std::string& axis, const ParamValue& value);

/// The case's value of an axis, of `operation`, `variant`, `method` or `params.<name>`; nothing
/// where the case has none (mode or rank of an operation that uses none).
std::optional<ParamValue> axis_value(const Case& c, const std::string& axis);

/// Equal as numbers where both are numbers, else equal in type and value.
bool same_value(const ParamValue& a, const ParamValue& b);

}  // namespace retensor::driver
