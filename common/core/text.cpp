// The search for a name that was meant, which every "unknown ..." message uses, and what a terminal
// may be sent.
#include "common/core/text.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>

#include <fmt/format.h>

#include "common/core/message.hpp"

namespace retensor {
namespace {

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t substituted = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({substituted, row[j] + 1, diagonal + 1});
    }
  }
  return row[b.size()];
}

/// Whether `word`, without its leading dashes, is what stands between two separators of `name`.
bool has_part(std::string_view name, std::string_view word) {
  constexpr std::string_view kSeparators = ".-_";
  word.remove_prefix(std::min(word.find_first_not_of('-'), word.size()));
  while (!word.empty()) {
    const auto end = name.find_first_of(kSeparators);
    if (name.substr(0, end) == word) return true;
    if (end == std::string_view::npos) return false;
    name.remove_prefix(end + 1);
  }
  return false;
}

/// 0 beyond the end.
unsigned byte(std::string_view text, std::size_t at) {
  return at < text.size() ? static_cast<unsigned char>(text[at]) : 0u;
}

/// Bytes of the UTF-8 character at `at`; 0 where there is none.
std::size_t length_of_character(std::string_view text, std::size_t at) {
  const unsigned first = byte(text, at);
  const std::size_t length = first < 0x80                     ? 1
                             : first >= 0xc2 && first < 0xe0  ? 2
                             : first >= 0xe0 && first < 0xf0  ? 3
                             : first >= 0xf0 && first <= 0xf4 ? 4
                                                              : 0;
  for (std::size_t k = 1; k < length; ++k)
    if ((byte(text, at + k) & 0xc0) != 0x80) return 0;
  return length;
}

}  // namespace

std::string meant(std::string_view word, const std::vector<std::string>& candidates) {
  const std::size_t most = std::min(std::max<std::size_t>(2, word.size() / 3),
                                    std::max<std::size_t>(1, word.size()) - 1);
  const std::string* best = nullptr;
  std::size_t least = 0;
  for (const auto& candidate : candidates) {
    const auto distance = edit_distance(word, candidate);
    if (distance > most && !has_part(candidate, word)) continue;
    if (best == nullptr || distance < least) best = &candidate, least = distance;
  }
  return best == nullptr ? std::string() : *best;
}

std::string suggestion(std::string_view word, const std::vector<std::string>& candidates) {
  const auto name = meant(word, candidates);
  return name.empty() ? name : fmt::format("; did you mean '{}'?", name);
}

std::size_t place_among(const std::vector<std::string>& known, std::string_view word,
                        std::string_view what) {
  const auto at = std::find(known.begin(), known.end(), word);
  if (at != known.end()) return static_cast<std::size_t>(at - known.begin());
  throw input_error("{} '{}', expected one of {}{}", what, word, joined(known, ", "),
                    suggestion(word, known));
}

std::string in_words(const std::vector<std::string>& items, std::string_view word) {
  std::string text;
  for (std::size_t k = 0; k < items.size(); ++k)
    text += (k == 0 ? "" : k + 1 == items.size() ? fmt::format(" {} ", word) : ", ") + items[k];
  return text;
}

bool is_control(std::string_view text, std::size_t at) {
  const unsigned first = byte(text, at);
  return first < 0x20 || first == 0x7f || (first == 0xc2 && (byte(text, at + 1) & 0xe0) == 0x80);
}

std::string duration_text(double seconds) {
  if (seconds < 0.9995e-3) return fmt::format("{:.3g} us", seconds * 1e6);
  if (seconds < 0.9995) return fmt::format("{:.3g} ms", seconds * 1e3);
  if (seconds < 99.95) return fmt::format("{:.3g} s", seconds);
  constexpr double kHour = 3600, kLong = 1000 * kHour;
  if (!(seconds < kLong)) return fmt::format("{:.3g} h", seconds / kHour);  // no number either
  const auto whole = static_cast<long>(seconds);
  if (seconds < kHour) return fmt::format("{} min {} s", whole / 60, whole % 60);
  return fmt::format("{} h {} min", whole / 3600, whole / 60 % 60);
}

std::string printable(std::string_view text) {
  std::string line;
  for (std::size_t at = 0; at < text.size();) {
    const auto length = length_of_character(text, at);
    if (length > 0 && !is_control(text, at)) {
      line += text.substr(at, length);
      at += length;
    } else {
      line += text[at] == '\n' ? "\\n" : fmt::format("\\x{:02x}", byte(text, at));
      ++at;
    }
  }
  return line;
}

}  // namespace retensor
