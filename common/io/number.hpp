// Numbers from text: exactly rounded, independent of the locale.
#pragma once

#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <system_error>

#include "common/io/fields.hpp"

namespace retensor::text {

/// Reads digits from p into v, which saturates beyond 2^64-1; returns where they end.
inline const char* read_digits(const char* p, const char* end, std::uint64_t& v) {
  while (p != end && *p == '0') ++p;
  const char* const first = p;
  v = 0;
  for (; p != end && is_digit(*p); ++p) v = v * 10 + (*p - '0');
  constexpr int always_fit = 19;
  if (p - first > always_fit) v = std::numeric_limits<std::uint64_t>::max();
  return p;
}

/// Reads a finite number, rounded to nearest even; a leading plus is accepted, a value too small
/// for T becomes zero. Returns where it ends, or nullptr when there is no number or none that T can
/// hold.
template <class T>
const char* read_value(const char* p, const char* end, T& value) {
  if (p != end && *p == '+' && p + 1 != end && p[1] != '-') ++p;
  auto [stop, code] = std::from_chars(p, end, value);
  if (code == std::errc::result_out_of_range) {
    long double wide = 0;  // tells a number that is too small from one that is too large
    if (std::from_chars(p, end, wide).ec != std::errc{}) return nullptr;
    value = static_cast<T>(wide);
  } else if (code != std::errc{}) {
    return nullptr;
  }
  return std::isfinite(value) ? stop : nullptr;
}

}  // namespace retensor::text
