// Sizes for people.
#pragma once

#include <string>

#include "common/core/types.hpp"

namespace retensor::driver {

/// "12.3 MiB".
std::string bytes_text(Count bytes);
/// Of "512MiB", "8GiB", "300KiB" or "4096"; throws InputError for anything else.
Count bytes_from(const std::string& text);

}  // namespace retensor::driver
