// What the methods of the device share that compute TTM-chain in tiles of columns.
#pragma once

#include <utility>

#include <fmt/format.h>

#include "common/baselines/hicoo_chain/chain.hpp"
#include "common/method/method_spec.hpp"

namespace retensor::chain {

/// What a grid has in its second dimension.
inline constexpr Count kMostTiles = 65535;

/// Orders 3 to 5.
inline Support supports_chain(const Problem& problem, const Params&) {
  if (const int order = problem.x().order(); order < 3 || order > 5)
    return Support::no(fmt::format("found order {}, expected 3 to 5", order));
  if (const Count tiles = tiles_of(problem); tiles > kMostTiles)
    return Support::no(fmt::format("found {} tiles of {} x {} columns, expected at most {}", tiles,
                                   kTile, kTile, kMostTiles));
  return Support::yes();
}

inline MethodSpec chain_method(MethodSpec own) {
  return with_shared({Operation::ttm_chain}, supports_chain, std::move(own));
}

}  // namespace retensor::chain
