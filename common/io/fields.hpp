// Fields, numbers, lines and comments of a text: the inner loops of the readers, hence inline.
// Numbers are exactly rounded, independent of the locale.
#pragma once

#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <system_error>

namespace retensor::text {

inline bool is_digit(char c) {
  return static_cast<unsigned char>(c - '0') < 10;
}
inline bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\r';
}
/// Whether a field may end before p.
inline bool at_separator(const char* p, const char* end) {
  return p == end || *p == '\n' || is_blank(*p);
}

inline const char* skip_blanks(const char* p, const char* end) {
  while (p != end && is_blank(*p)) ++p;
  return p;
}

/// The line feed that ends the line of p, or `end`.
inline const char* line_end(const char* p, const char* end) {
  if (p == end) return end;
  const void* found = std::memchr(p, '\n', static_cast<std::size_t>(end - p));
  return found == nullptr ? end : static_cast<const char*>(found);
}

/// Where the field that begins at p ends.
inline const char* field_end(const char* p, const char* end) {
  while (!at_separator(p, end)) ++p;
  return p;
}

/// First field of the first line at or after p that is neither blank nor a comment; `end` if none.
/// p stands at the beginning of a line or behind the last field of one.
inline const char* next_record(const char* p, const char* end, char comment) {
  while (p != end) {
    if (*p == comment)
      p = line_end(p, end);
    else if (*p == '\n' || is_blank(*p))
      ++p;
    else
      return p;
  }
  return end;
}

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
