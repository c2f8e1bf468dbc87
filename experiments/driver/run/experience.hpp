// The planner's table out of result files.
#pragma once

#include <string>
#include <vector>

#include "common/advise/experience.hpp"
#include "common/method/registry.hpp"

namespace retensor::driver {

/// Of the rows that are ok, have facts and were measured by code of this project, whether or not it
/// is today's: medians over the rows of a problem, a machine, a method and its parameters. Rows of
/// methods and parameters that the program does not have are left out. The same rows give the same
/// table, in whatever order the files stand.
advise::Experience experience_of(const std::vector<std::string>& files, const Registry& methods);

}  // namespace retensor::driver
