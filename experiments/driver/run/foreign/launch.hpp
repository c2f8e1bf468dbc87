// The process that becomes an executable from outside.
#pragma once

#include <string>
#include <vector>

#include "experiments/driver/spec/foreign.hpp"

namespace retensor::driver {

inline constexpr int kNoLaunch = 127;  ///< exit code where the executable can't be started

/// argv of this program that becomes the executable in a folder; worker_command() reads it.
std::vector<std::string> launch_command(const ForeignCode& code, const std::string& folder);
/// Ties the process to its parent, whose death it shall not outlive, and becomes the executable.
/// Returns kNoLaunch where that fails.
int launch_main(const std::string& request);

}  // namespace retensor::driver
