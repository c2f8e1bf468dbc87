// The methods that a spec can name: this program's, `auto`, for which the planner chooses one when
// the tensor is at hand, and external code.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "common/method/registry.hpp"
#include "experiments/driver/spec/spec.hpp"

namespace retensor::driver {

inline constexpr std::string_view kAutoMethod = "auto";

/// Of the registry, or what stands for `auto`: it has parameters and takes every problem, but is
/// never run. Throws InputError naming the nearest id.
const Method& method_of_spec(const Registry& methods, std::string_view id);

/// How `executed.chosen_by` of a row names an `auto` of a spec with these resolved parameters: its
/// calls, and what is not the default.
std::string name_of_auto(const std::map<std::string, ParamValue>& params);

/// The methods of this program and those from outside that the spec names. An entry whose id is
/// none of this program's is looked up in the files methods/*.yaml of the working directory, and
/// gets what stands there. Throws ParseError for an id of which this program has a module.
Registry methods_for(Spec& spec);

}  // namespace retensor::driver
