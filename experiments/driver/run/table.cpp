// Column widths are those of the longest cell.
#include "experiments/driver/run/table.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace retensor::driver {

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
