// Tensors made of dense and sparse tiles, the structure that tiled formats such as HLS
// (HLSTO section IV) and HiCOO respond to.
//
// Tile t lies where a random permutation of the grid puts t, and its nonzeros are the first images
// of a random permutation of its cells, so that tiles and cells are distinct by construction.

#include <algorithm>
#include <cmath>
#include <numeric>

#include "common/generate/draws.hpp"
#include "common/generate/generators.hpp"
#include "common/generate/sampling.hpp"

namespace retensor {
namespace {

struct Grid {
  Dims edges;  ///< of a tile
  Dims tiles;  ///< whole tiles along each mode
};

Grid grid_of(const Target& target, const TiledLaw& law) {
  if (law.edge == 0) throw input_error("a tile has edge 0");
  Grid grid;
  for (const std::uint64_t length : target.dims) {
    grid.edges.push_back(std::max<std::uint64_t>(1, std::min(law.edge, length)));
    grid.tiles.push_back(length / grid.edges.back());
  }
  return grid;
}

// Whole numbers with the given sum, each within 1 of min(scale * weight, cap) for a common scale.
std::vector<Count> apportion(const std::vector<double>& weights, Count sum, double cap) {
  const auto total = [&](double scale) {
    double s = 0;
    for (const double w : weights) s += std::min(w * scale, cap);
    return s;
  };
  double low = 0, high = 1;
  while (total(high) < static_cast<double>(sum) && high < 0x1.0p200) high *= 2;
  if (total(high) < static_cast<double>(sum))
    throw input_error("the spread over tiles is too steep");
  for (int step = 0; step < 100; ++step) {
    const double middle = 0.5 * (low + high);
    (total(middle) < static_cast<double>(sum) ? low : high) = middle;
  }
  std::vector<Count> counts(weights.size());
  double running = 0;
  Count given = 0;
  for (std::size_t t = 0; t < weights.size(); ++t) {
    running += std::min(weights[t] * high, cap);
    const bool last = t + 1 == weights.size();
    const Count reached = last ? sum : std::min(sum, static_cast<Count>(running + 0.5));
    counts[t] = reached - given;
    given = reached;
  }
  return counts;
}

std::vector<double> spread_weights(const TiledLaw& law, Count tiles) {
  std::vector<double> weights(tiles, 1.0);
  for (Count t = 0; t < tiles; ++t) {
    if (law.spread == TileSpread::exponential)  // quantiles in the middle of equal steps
      weights[t] = -std::log((static_cast<double>(t) + 0.5) / static_cast<double>(tiles));
    else if (law.spread == TileSpread::power_law)
      weights[t] = std::pow(static_cast<double>(t) + 1, -law.exponent);
  }
  return weights;
}

[[noreturn]] void refuse(const Target& target, const TiledLaw& law, const char* why) {
  throw input_error("{} nonzeros in {} tiles of edge {}: {}", target.nnz, law.tiles, law.edge, why);
}

}  // namespace

std::vector<Count> tile_counts(const Target& target, const TiledLaw& law) {
  if (!(law.dense_share >= 0 && law.dense_share <= 1))
    throw input_error("dense_share is not inside [0, 1]");
  if (!(law.dense_fill > 0 && law.dense_fill <= 1))
    throw input_error("dense_fill is not inside (0, 1]");
  const Grid grid = grid_of(target, law);
  if (law.tiles > sampling::volume(grid.tiles)) refuse(target, law, "the dims hold fewer tiles");
  const auto full = static_cast<Count>(
      std::floor(law.dense_fill * static_cast<double>(checked_volume(grid.edges))));
  const Count capacity = std::max<Count>(1, full);
  const auto in_dense =
      static_cast<Count>(std::llround(law.dense_share * static_cast<double>(target.nnz)));
  const Count in_sparse = target.nnz - in_dense;
  const Count dense_tiles = (in_dense + capacity - 1) / capacity;
  if (dense_tiles > law.tiles) refuse(target, law, "the dense tiles alone are more");
  const Count sparse_tiles = law.tiles - dense_tiles;
  if (in_sparse < sparse_tiles) refuse(target, law, "some tiles would be empty");
  if (in_sparse > static_cast<Uint128>(sparse_tiles) * capacity)
    refuse(target, law, "the sparse tiles would be denser than the dense ones");

  std::vector<Count> counts =
      apportion(std::vector<double>(dense_tiles, 1.0), in_dense, static_cast<double>(capacity));
  for (const Count excess : apportion(spread_weights(law, sparse_tiles), in_sparse - sparse_tiles,
                                      static_cast<double>(capacity - 1)))
    counts.push_back(1 + excess);
  return counts;
}

Coo tiled(const Target& target, const TiledLaw& law) {
  std::vector<Count> starts = tile_counts(target, law);
  std::exclusive_scan(starts.begin(), starts.end(), starts.begin(), Count{0});
  const Grid grid = grid_of(target, law);
  const Uint128 cells = sampling::volume(grid.edges);
  const RandomPermutation place(std::max(sampling::volume(grid.tiles), Uint128{1}), target.seed, 0);
  return sampling::collect(target, [&](Count i, sampling::Coordinate& coordinate) {
    const auto tile =
        static_cast<Count>(std::upper_bound(starts.begin(), starts.end(), i) - starts.begin()) - 1;
    const RandomPermutation cell(cells, target.seed, tile + 1);
    const auto corner = sampling::coordinate_at(grid.tiles, place(tile));
    const auto inside = sampling::coordinate_at(grid.edges, cell(i - starts[tile]));
    for (std::size_t m = 0; m < target.dims.size(); ++m)
      coordinate[m] = static_cast<Index>(corner[m] * grid.edges[m] + inside[m]);
    return true;
  });
}

}  // namespace retensor
