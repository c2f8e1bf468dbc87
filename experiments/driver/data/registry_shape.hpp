// What the data set registry and the files that it includes may hold
// (experiments/schema/README.md).
#pragma once

#include <string>

#include "experiments/driver/yaml/shape.hpp"

namespace retensor::driver {

ShapePtr registry_shape();
/// The recipes of a folder and the parameters of each that a registry may set.
ShapePtr recipes_shape();
/// What a variant of a stand-in may change of its generator's parameters: all but dims and nnz.
ShapePtr stand_in_variant_shape(const std::string& generator);

}  // namespace retensor::driver
