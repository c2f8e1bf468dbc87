// Blocked-ELL: square blocks, every row of blocks with as many as the fullest.
#pragma once

#include <cstdint>
#include <vector>

#include "common/tensor/coo.hpp"

namespace retensor::cusparse {

struct BlockedEll {
  Count per_row = 0;                  ///< blocks of a row of blocks
  std::vector<std::int32_t> columns;  ///< of blocks, ascending in a row; -1 for those that it lacks
  std::vector<float> values;          ///< rows x (per_row edge), row-major
};
/// `s`: with a nonzero; equal coordinates are added up. `edge`: of a block.
BlockedEll to_blocked_ell(const Coo& s, Count edge);
/// Elements of its blocks.
Count ell_elements(const Coo& s, Count edge);

}  // namespace retensor::cusparse
