// What a machine's methods decline, known before anything runs.
#pragma once

#include <string>

#include "experiments/driver/spec/plan.hpp"

namespace retensor::driver {

/// Moves the cases that `run` would record as unsupported on this machine to the end of the skips,
/// with the method's reason; returns how many. Methods are asked about the tensor itself where the
/// cache folder has it and it is small, else about its order and mode lengths: a method that
/// declines only because of the nonzeros of a large tensor, or of one that is not here, keeps its
/// case.
std::size_t skip_declined(Plan& plan, const Registry& methods, const DatasetRegistry& datasets,
                          const std::string& cache_dir);

}  // namespace retensor::driver
