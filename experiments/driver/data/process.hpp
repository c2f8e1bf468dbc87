// Starting other programs by argument vector: no shell, no quoting.
#pragma once

#include <string>
#include <vector>

namespace retensor::driver {

/// Where the child's standard output goes: a child that talks must not mix into the data of ours.
enum class ChildOutput { inherited, to_stderr };

/// Runs argv[0] (searched in PATH) with PYTHONPATH headed by `python_path` when that is not empty,
/// waits, and returns its exit code (128 + signal when it was killed). What it says on standard
/// error goes to the file `errors` where one is named. Throws SystemError when it can't be started.
int run_process(const std::vector<std::string>& argv, const std::string& python_path = "",
                ChildOutput output = ChildOutput::inherited, const std::string& errors = "");

/// The interpreter for recipes and plots: $RETENSOR_PYTHON, else the one found when the program was
/// configured, else python3 from PATH.
std::string python_interpreter();

/// Runs the Python package of the source tree with these arguments; returns its exit code.
int run_package(const std::vector<std::string>& arguments,
                ChildOutput output = ChildOutput::inherited);

}  // namespace retensor::driver
