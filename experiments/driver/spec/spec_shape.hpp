// What a spec may hold (experiments/schema/README.md).
#pragma once

#include <string>
#include <vector>

#include "experiments/driver/yaml/shape.hpp"

namespace retensor::driver {

/// The profiles that exist: quick, device, full.
const std::vector<std::string>& profile_names();

/// A file with a spec or a fragment of one. Where it includes others it need not be complete.
ShapePtr spec_shape();
/// One file by itself: any part of a spec.
ShapePtr spec_part_shape();
/// A spec with its includes merged, all there that it needs.
ShapePtr whole_spec_shape();

}  // namespace retensor::driver
