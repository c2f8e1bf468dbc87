// Sizes for people.
#pragma once

#include <string>

#include "common/core/types.hpp"

namespace retensor::driver {

/// "12.3 MiB".
std::string bytes_text(Count bytes);

}  // namespace retensor::driver
