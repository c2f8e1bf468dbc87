// Aligned columns for people.
#pragma once

#include <string>
#include <vector>

#include "common/core/types.hpp"
#include "experiments/driver/run/style.hpp"

namespace retensor::driver {

using TableRow = std::vector<std::string>;
/// Rows as lines with columns two blanks apart; the last column is not padded. Cells may be
/// coloured (Style).
std::string table_text(const std::vector<TableRow>& rows);
/// The same below a row of headings, which a terminal shows bold.
std::string table_text(TableRow headings, std::vector<TableRow> rows, const Style& style);

}  // namespace retensor::driver
