// Rows of a result file that the planner's choices stand in: a sweep that goes on and a cluster's
// tasks keep to what was chosen, since a second trial may end otherwise.
#pragma once

#include <map>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "experiments/driver/run/row.hpp"
#include "experiments/driver/spec/case.hpp"

namespace retensor::driver {

/// Adds to `names`, the text `executed.chosen_by`, that another `auto` took the same method.
std::string also_chosen_by(const std::string& names, const std::string& name);

/// The row of the problem of `wanted`, a case of `auto` on this data, that says it was chosen for
/// it; null without one. Rows need `executed`.
const Row* chosen_row(const std::map<std::string, Row>& rows, const Case& wanted,
                      const nlohmann::json& data);

}  // namespace retensor::driver
