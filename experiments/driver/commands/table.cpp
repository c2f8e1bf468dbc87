// Column widths are those of the longest cell.
#include "experiments/driver/commands/table.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace retensor::driver {

std::string table_text(const std::vector<TableRow>& rows) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], row[c].size());
  }
  std::string text;
  for (const auto& row : rows) {
    for (std::size_t c = 0; c < row.size(); ++c)
      text += c + 1 < row.size() ? fmt::format("{:<{}}  ", row[c], widths[c]) : row[c];
    text += '\n';
  }
  return text;
}

std::string bytes_text(Count bytes) {
  constexpr const char* kUnits[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes < 1024) return fmt::format("{} B", bytes);
  auto scaled = static_cast<double>(bytes) / 1024;
  std::size_t unit = 0;
  for (; scaled >= 1024; scaled /= 1024) ++unit;
  return fmt::format("{:.1f} {}", scaled, kUnits[unit]);
}

}  // namespace retensor::driver
