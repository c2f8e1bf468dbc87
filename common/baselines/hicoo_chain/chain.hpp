// Tiles of a TTM-chain's result, as host and device count them.
#pragma once

#include "common/method/problem.hpp"

namespace retensor::chain {

/// Columns of a tile in each of its two modes: those of a fragment in HLSTO's kernel.
inline constexpr int kTile = 16;

/// Tiles of a result row: of the last two product modes, for each column of the modes before.
inline Count tiles_of(const Problem& problem) {
  Count tiles = 1;
  int left = problem.x().order() - 1;  // product modes from here on
  for (int m = 0; m < problem.x().order(); ++m) {
    if (m == problem.mode()) continue;
    const Count columns = problem.dense()[static_cast<std::size_t>(m)].cols();
    tiles *= left-- > 2 ? columns : (columns + kTile - 1) / kTile;
  }
  return tiles;
}

}  // namespace retensor::chain
