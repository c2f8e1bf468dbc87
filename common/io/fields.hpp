// Fields, lines and comments of a text: the inner loops of the readers, hence inline.
#pragma once

#include <cstddef>
#include <cstring>

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

}  // namespace retensor::text
