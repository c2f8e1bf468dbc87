// The project's own registry of data sets.
#pragma once

#include <functional>
#include <vector>

#include "experiments/driver/data/datasets.hpp"
#include "experiments/driver/data/locations.hpp"

namespace retensor::testing {

inline const driver::DatasetRegistry& registry() {
  static const auto loaded = driver::DatasetRegistry::load(driver::default_registry());
  return loaded;
}

inline std::vector<driver::Dataset> entries_where(
    const std::function<bool(const driver::Dataset&)>& holds) {
  std::vector<driver::Dataset> found;
  for (const auto& entry : registry().all())
    if (holds(entry.second)) found.push_back(entry.second);
  return found;
}

/// Stand-ins without their variants that a recipe makes.
inline std::vector<driver::Dataset> base_stand_ins(const std::string& recipe) {
  return entries_where(
      [&](const driver::Dataset& d) { return d.variant == "base" && d.recipe == recipe; });
}

}  // namespace retensor::testing
