// Sizes and counts for people.
#pragma once

#include <string>
#include <string_view>

#include "common/core/types.hpp"

namespace retensor::driver {

/// "12.3 MiB".
std::string bytes_text(Count bytes);
/// "1 row", "2 rows", "0 rows"; nouns whose plural ends with "s" alone.
std::string count_text(Count count, std::string_view noun);
/// Of "512MiB", "8GiB", "300KiB" or "4096"; throws InputError for anything else.
Count bytes_from(const std::string& text);

}  // namespace retensor::driver
