// What the methods of the device share that compute TTM-chain in tiles of columns, with the tiles
// as host and device count them.
#pragma once

#include <string>
#include <utility>

#include "common/method/method_spec.hpp"

namespace retensor::chain {

/// Columns of a tile in each of its two modes: those of a fragment in HLSTO's kernel.
inline constexpr int kTile = 16;
/// What a grid has in its second dimension.
inline constexpr Count kMostTiles = 65535;

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

/// Orders 3 to 5.
inline Support supports_chain(const Problem& problem, const Params&) {
  if (const int order = problem.x().order(); order < 3 || order > 5)
    return Support::no("found a tensor of order " + std::to_string(order) + ", expected 3 to 5");
  if (const Count tiles = tiles_of(problem); tiles > kMostTiles) {
    const std::string edge = std::to_string(kTile);
    return Support::no("found " + std::to_string(tiles) + " tiles of " + edge + " x " + edge +
                       " columns, expected at most " + std::to_string(kMostTiles));
  }
  return Support::yes();
}

inline MethodSpec chain_method(MethodSpec own) {
  return with_shared({Operation::ttm_chain}, supports_chain, std::move(own));
}

}  // namespace retensor::chain
