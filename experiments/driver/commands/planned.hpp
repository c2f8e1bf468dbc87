// Plans of specs that are to be measured.
#pragma once

#include <string>

#include "experiments/driver/data/datasets.hpp"
#include "experiments/driver/spec/plan.hpp"

namespace retensor::driver {

/// Throws InputError for a spec that measures nothing, and ParseError for one that names code from
/// outside unless it may run.
Plan plan_to_measure(const std::string& spec_path, const std::string& profile,
                     const DatasetRegistry& datasets, bool allow_foreign);

}  // namespace retensor::driver
