// Words that users write, mistype and read.
#pragma once

#include <charconv>
#include <cstddef>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

namespace retensor {

/// The candidate that is close enough to have been meant: `word` is one of its parts between dots,
/// dashes or underscores, or at most a third of the characters differ (two of short words). Of
/// several the one with the smallest edit distance, empty when none is close.
std::string meant(std::string_view word, const std::vector<std::string>& candidates);
/// "; did you mean 'X'?" with that candidate, empty when none is close.
std::string suggestion(std::string_view word, const std::vector<std::string>& candidates);

/// The place of the word among those known. Throws InputError: "WHAT 'word', expected one of a, b",
/// with the candidate that was meant.
std::size_t place_among(const std::vector<std::string>& known, std::string_view word,
                        std::string_view what);
template <class Words>
std::size_t place_among(const Words& known, std::string_view word, std::string_view what) {
  return place_among(std::vector<std::string>(std::begin(known), std::end(known)), word, what);
}

/// The items with the separator between them. (gcc 12 warns of an overflow in fmt::join.)
template <class Items>
std::string joined(const Items& items, std::string_view separator) {
  std::string text;
  for (const auto& item : items) {
    if (!text.empty()) text += separator;
    text += fmt::to_string(item);
  }
  return text;
}

/// The number that a text is as a whole; nothing where it is none that T can hold.
template <class T>
std::optional<T> number_in(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  return whole ? std::optional(value) : std::nullopt;
}

/// "a, b and c", with the word before the last item.
std::string in_words(const std::vector<std::string>& items, std::string_view word);

/// Seconds in a unit that fits: "12.3 us", "4.56 s", "3 min 20 s", "2e+03 h".
std::string duration_text(double seconds);

/// The text on one line, control characters written out (\n, \x1b): what a file or an argument
/// holds moves no cursor and forges no line of a terminal.
std::string printable(std::string_view text);
/// Whether a terminal takes the bytes at `at` for a command: C0 and C1 controls and DEL in UTF-8.
bool is_control(std::string_view text, std::size_t at);

}  // namespace retensor
