// Column widths are those of the longest cell.
#include "experiments/driver/run/table.hpp"

#include "experiments/driver/data/locations.hpp"

#include <fmt/format.h>
#include <unistd.h>
#include <algorithm>
#include <array>

namespace retensor::driver {

namespace {

/// Select Graphic Rendition (ECMA-48) by tone.
constexpr std::array<const char*, 6> kCodes = {"0", "32", "31", "33", "2", "1"};

bool wants_colour(int descriptor) {
  const auto terminal = environment("TERM");
  return environment("NO_COLOR").empty() && !terminal.empty() && terminal != "dumb" &&
         isatty(descriptor) == 1;
}

}  // namespace

Style::Style(int descriptor) : coloured_(wants_colour(descriptor)) {}

std::string Style::operator()(Tone tone, std::string_view text) const {
  if (!coloured_ || tone == Tone::plain || text.empty()) return std::string(text);
  return fmt::format("\x1b[{}m{}\x1b[0m", kCodes[static_cast<std::size_t>(tone)], text);
}

const Style& out_style() {
  static const Style style(STDOUT_FILENO);
  return style;
}

const Style& talk_style() {
  static const Style style(STDERR_FILENO);
  return style;
}

std::size_t shown_width(std::string_view text) {
  std::size_t width = 0;
  for (std::size_t k = 0; k < text.size(); ++k) {
    if (text[k] == '\x1b')
      k = std::min(text.find('m', k), text.size() - 1);
    else if ((static_cast<unsigned char>(text[k]) & 0xc0) != 0x80)
      ++width;
  }
  return width;
}

std::string table_text(const std::vector<TableRow>& rows) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t c = 0; c < row.size(); ++c)
      widths[c] = std::max(widths[c], shown_width(row[c]));
  }
  std::string text;
  for (const auto& row : rows) {
    for (std::size_t c = 0; c < row.size(); ++c)
      text += row[c] + (c + 1 < row.size() ? std::string(widths[c] - shown_width(row[c]) + 2, ' ')
                                           : std::string());
    text += '\n';
  }
  return text;
}

std::string table_text(TableRow headings, std::vector<TableRow> rows, const Style& style) {
  for (auto& heading : headings) heading = style(Tone::strong, heading);
  rows.insert(rows.begin(), std::move(headings));
  return table_text(rows);
}

}  // namespace retensor::driver
