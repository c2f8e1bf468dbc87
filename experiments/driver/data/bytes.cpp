#include "experiments/driver/data/bytes.hpp"

#include <fmt/format.h>

#include <charconv>
#include <map>
#include <string_view>

#include "common/core/message.hpp"

namespace retensor::driver {

std::string bytes_text(Count bytes) {
  constexpr const char* kUnits[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes < 1024) return fmt::format("{} B", bytes);
  auto scaled = static_cast<double>(bytes) / 1024;
  std::size_t unit = 0;
  for (; scaled >= 1024; scaled /= 1024) ++unit;
  return fmt::format("{:.1f} {}", scaled, kUnits[unit]);
}

std::string count_text(Count count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

Count bytes_from(const std::string& text) {
  static const std::map<std::string_view, Count> kFactors = {
      {"", 1}, {"KiB", Count{1} << 10}, {"MiB", Count{1} << 20}, {"GiB", Count{1} << 30}};
  Count number = 0;
  const auto* const end = text.data() + text.size();
  const auto [unit, error] = std::from_chars(text.data(), end, number);
  const auto factor = kFactors.find({unit, static_cast<std::size_t>(end - unit)});
  if (error != std::errc() || factor == kFactors.end() ||
      (number > Count{1} << 33 && factor->second > 1))
    throw input_error("found '{}', expected a size such as 512MiB or 8GiB", text);
  return number * factor->second;
}

}  // namespace retensor::driver
