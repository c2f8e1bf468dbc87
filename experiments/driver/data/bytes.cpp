#include "experiments/driver/data/bytes.hpp"

#include <fmt/format.h>

namespace retensor::driver {

std::string bytes_text(Count bytes) {
  constexpr const char* kUnits[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes < 1024) return fmt::format("{} B", bytes);
  auto scaled = static_cast<double>(bytes) / 1024;
  std::size_t unit = 0;
  for (; scaled >= 1024; scaled /= 1024) ++unit;
  return fmt::format("{:.1f} {}", scaled, kUnits[unit]);
}

}  // namespace retensor::driver
