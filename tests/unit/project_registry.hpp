// The data sets of the project's own registry.
#pragma once

#include <doctest/doctest.h>

#include <string>

#include "experiments/driver/data/datasets.hpp"
#include "experiments/driver/data/facts.hpp"
#include "experiments/driver/data/locations.hpp"

namespace retensor::driver {

inline const DatasetRegistry& registry() {
  static const auto loaded = DatasetRegistry::load(default_registry());
  return loaded;
}

/// Calls f for each data set that `takes` takes, its name being part of what fails.
template <class Takes, class F>
void for_each_data_set(const Takes& takes, const F& f) {
  for (const auto& entry : registry().all()) {
    if (!takes(entry.second)) continue;
    CAPTURE(entry.first);
    f(entry.second);
  }
}

/// Stand-ins as they are, made by a recipe.
inline auto base_of(const std::string& recipe) {
  return [recipe](const Dataset& d) { return d.variant == "base" && d.recipe == recipe; };
}

/// The data set, which must be what the registry states.
inline Coo made(const Dataset& d) {
  auto tensor = generate(d.recipe, d.recipe_params);
  CHECK_NOTHROW(check_against_registry(d, tensor));
  return tensor;
}

}  // namespace retensor::driver
