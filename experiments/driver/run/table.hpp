// Aligned columns for people.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/core/types.hpp"

namespace retensor::driver {

enum class Tone { plain, good, bad, doubtful, dim, strong };

/// Colours text where a file descriptor is a terminal that knows them and the user has not asked
/// for none (NO_COLOR set to anything, https://no-color.org); elsewhere text stays as it is.
class Style {
 public:
  explicit Style(int descriptor);
  std::string operator()(Tone tone, std::string_view text) const;

 private:
  bool coloured_;
};

/// Of standard output and of standard error.
const Style& out_style();
const Style& talk_style();

/// Characters that a terminal shows of a text: colours and continuation bytes of UTF-8 take none.
std::size_t shown_width(std::string_view text);

using TableRow = std::vector<std::string>;
/// Rows as lines with columns two blanks apart; the last column is not padded. Cells may be
/// coloured (Style).
std::string table_text(const std::vector<TableRow>& rows);
/// The same below a row of headings, which a terminal shows bold.
std::string table_text(TableRow headings, std::vector<TableRow> rows, const Style& style);

}  // namespace retensor::driver
