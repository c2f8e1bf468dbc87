// Aligned columns for people.
#pragma once

#include <string>
#include <vector>

#include "common/core/types.hpp"

namespace retensor::driver {

using TableRow = std::vector<std::string>;
/// Rows as lines with columns two blanks apart; the last column is not padded.
std::string table_text(const std::vector<TableRow>& rows);
/// "12.3 MiB".
std::string bytes_text(Count bytes);

}  // namespace retensor::driver
