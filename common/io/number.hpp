// Decimal numbers from text: exactly rounded, independent of the locale.
//
// A value w * 10^k with w <= 2^53 and |k| <= 22 has both w and 10^|k| exact in double precision, so
// that one multiplication or division rounds once (Clinger 1990, the fast path); everything else
// goes to std::from_chars. For f32 the double is rounded a second time, which errs only when the
// double stands exactly between two floats or below the normal range; those go to std::from_chars
// as well.
#pragma once

#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

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

/// Reads a finite number by std::from_chars; a leading plus is accepted, a value too small for T
/// becomes zero. Returns nullptr when there is no number, or none that T can hold.
template <class T>
const char* read_value_slow(const char* p, const char* end, T& value) {
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

inline constexpr std::array<double, 23> kPowersOfTen = {
    1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

/// Whether rounding x, itself correctly rounded from some real number, to float rounds that number
/// correctly.
inline bool rounds_to_float(double x) {
  constexpr std::uint64_t below_float = (std::uint64_t{1} << 29) - 1;
  constexpr std::uint64_t halfway = std::uint64_t{1} << 28;
  if (x == 0) return true;
  return (std::bit_cast<std::uint64_t>(x) & below_float) != halfway &&
         std::fabs(x) >= static_cast<double>(std::numeric_limits<float>::min()) &&
         std::fabs(x) < static_cast<double>(std::numeric_limits<float>::max());
}

/// Reads a finite number, rounded to nearest even. Returns where it ends, or nullptr when there is
/// no number or none that T can hold.
template <class T>
const char* read_value(const char* p, const char* end, T& value) {
  const char* const begin = p;
  const bool negative = p != end && *p == '-';
  if (negative || (p != end && *p == '+')) ++p;
  std::uint64_t digits = 0;
  const auto take_digits = [&] {
    const char* const first = p;
    for (; p != end && is_digit(*p); ++p) digits = digits * 10 + (*p - '0');
    return static_cast<int>(p - first);
  };
  int count = take_digits(), exponent = 0;
  if (p != end && *p == '.') {
    ++p;
    exponent = -take_digits();
    count -= exponent;
  }
  constexpr int always_fit = 19;
  constexpr int last_power = static_cast<int>(kPowersOfTen.size()) - 1;
  if (count == 0 || count > always_fit || digits > std::uint64_t{1} << 53 || -exponent > last_power)
    return read_value_slow(begin, end, value);
  if (p != end && (*p | 0x20) == 'e') {
    const char* q = p + 1;
    const bool minus = q != end && *q == '-';
    if (minus || (q != end && *q == '+')) ++q;
    std::uint64_t power = 0;
    const char* const stop = read_digits(q, end, power);
    if (stop == q || power > 2 * last_power) return read_value_slow(begin, end, value);
    exponent += minus ? -static_cast<int>(power) : static_cast<int>(power);
    if (exponent > last_power || -exponent > last_power) return read_value_slow(begin, end, value);
    p = stop;
  }
  double x = static_cast<double>(digits);
  x = exponent < 0 ? x / kPowersOfTen[-exponent] : x * kPowersOfTen[exponent];
  if constexpr (std::is_same_v<T, float>)
    if (!rounds_to_float(x)) return read_value_slow(begin, end, value);
  value = static_cast<T>(negative ? -x : x);
  return p;
}

}  // namespace retensor::text
