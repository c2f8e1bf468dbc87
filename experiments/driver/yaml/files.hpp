// The files that users write, and those that such files name: small, and where they may lie.
#pragma once

#include <cstddef>
#include <string>

namespace retensor::driver {

inline constexpr std::size_t kMaxSmallFile = std::size_t{1} << 20;

/// Content of a regular file of at most kMaxSmallFile bytes; throws InputError.
std::string read_small_file(const std::string& path);
/// Whether `path` (links resolved) lies in `directory` or below it.
bool lies_below(const std::string& path, const std::string& directory);

}  // namespace retensor::driver
