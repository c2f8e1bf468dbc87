// A small tensor as the arrays of the formats, from the real structures: PASTA Fig. 1 and 2.
#pragma once

#include <string>
#include <vector>

#include "common/core/types.hpp"
#include "common/tensor/coo.hpp"
#include "experiments/driver/run/table.hpp"

namespace retensor::driver {

/// What the formats are made with.
struct LayoutChoice {
  int block_bits = 7;
  std::vector<int> plain;  ///< modes that gHiCOO leaves in coordinates; none: no gHiCOO
  std::vector<int> dense;  ///< modes that sCOO and sHiCOO store dense; none: neither
};

struct Layout {
  std::string format;
  Count bytes = 0;
  /// A column an array, below its name (i or bi, ei, ... of a mode, bptr, value or values); a line
  /// an entry, or a fiber with dense modes; block pointers and indices where a block begins.
  std::vector<TableRow> rows;
};

/// A layout is to be read; larger tensors only fill the screen.
inline constexpr Count kMostInLayout = 1000;

/// COO, HiCOO and what else the choice asks for.
std::vector<Layout> layouts_of(const Coo& tensor, const LayoutChoice& choice);

/// "bptr 0 3; bi 0 1; ei 0 0 1; value 1 2 3".
std::string arrays_text(const Layout& layout);

}  // namespace retensor::driver
