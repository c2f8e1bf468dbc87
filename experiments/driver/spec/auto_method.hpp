// The method `auto` of specs: the planner chooses one when the tensor is at hand.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "common/method/registry.hpp"

namespace retensor::driver {

inline constexpr std::string_view kAutoMethod = "auto";

/// Of the registry, or what stands for `auto`: it has parameters and takes every problem, but is
/// never run. Throws InputError naming the nearest id.
const Method& method_of_spec(const Registry& methods, std::string_view id);

/// How `executed.chosen_by` of a row names an `auto` of a spec with these resolved parameters: its
/// calls, and what is not the default.
std::string name_of_auto(const std::map<std::string, ParamValue>& params);

}  // namespace retensor::driver
