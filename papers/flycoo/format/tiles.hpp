// The layout of flycoo.cuda.tuned: every mode's order is cut into tiles that fit the shared memory
// of an SM. A tile owns its nonzeros as a partition of section 3.4 does, and dynamic remapping
// (section 3.1) moves whole runs of records from tile to tile.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "common/core/types.hpp"
#include "common/tensor/array.hpp"
#include "common/tensor/coo.hpp"
#include "papers/flycoo/format/record.hpp"

namespace retensor::flycoo {

/// A row of the output whose nonzeros lie in the tiles first to last.
struct CutRow {
  Index row;
  std::uint32_t first, last;
  bool operator==(const CutRow&) const = default;
};

/// What tiles share rows of the output.
struct SharedRows {
  std::vector<std::uint8_t> joined;  ///< tiles + 1: tile t begins with the last row of tile t - 1
  std::vector<CutRow> cut;           ///< ascending
};

/// One mode. Its nonzeros sorted by output row are cut into tiles of `TiledShape::tile` nonzeros;
/// in storage a tile's records, in its slots, stand in another order: as they arrive from the mode
/// before, those of one source tile side by side.
struct TiledMode : SharedRows {
  Array<std::uint16_t> walk;    ///< slot of the tile's next nonzero by output row
  Array<std::uint16_t> leave;   ///< slot of the tile's next nonzero to go to the next mode
  Array<std::uint32_t> target;  ///< where it goes, as a position in the next mode's storage
  /// Fibers along the walk: runs of nonzeros with equal indices in all modes but the next one.
  Count fibers = 0;
};

struct TileOptions {
  std::uint32_t tile = 16384;    ///< most nonzeros of a tile, 1 to 65536
  std::uint32_t unit = 1;        ///< tiles are a multiple of it, as is the most
  std::uint32_t processors = 1;  ///< tiles are made about equal in number for each
  bool remap = true;  ///< false: one copy of the records a mode, each sorted by output row
};

/// A tensor in tiles but for its arrays, which lie on the host or on a device.
struct TiledShape : RecordShape {
  std::uint32_t tile = 1;  ///< nonzeros of every tile but the last

  std::uint32_t tiles() const { return static_cast<std::uint32_t>((nnz + tile - 1) / tile); }
  /// The positions of tile t are those from begin(t) on and before end(t).
  Count begin(std::uint32_t t) const { return Count{t} * tile; }
  Count end(std::uint32_t t) const { return std::min(begin(t) + tile, nnz); }
};

struct Tiled : TiledShape {
  std::vector<TiledMode> modes;
  /// With remapping one array, the records in mode 0's storage order; else one a mode, sorted by
  /// output row, and walk, leave and target are empty.
  std::vector<Array<std::uint32_t>> records;

  bool remaps() const { return records.size() < dims.size(); }
  /// What a run reads; with remapping a second array of records is written besides.
  Count bytes() const;
  Coo to_coo() const;
  /// Throws InputError naming the first mode and position that breaks an invariant: walk, leave and
  /// target are permutations; rows ascend along the walk; targets ascend in a tile; joined and cut
  /// tell the rows that tiles share; fibers are counted; after the last mode the records are as
  /// they were.
  void check() const;
};

/// Nonzeros of a tile: at most `options.tile`, a multiple of `options.unit`, such that every
/// processor has equally many tiles but for that rounding.
std::uint32_t tile_size(Count nnz, const TileOptions& options);

/// A record of tiles: packed indices and the value.
RecordLayout tiled_layout(const Dims& dims, DType dtype);
/// The shape that to_tiled gives a tensor; throws as it does.
TiledShape tiled_shape(const Dims& dims, DType dtype, Count nnz, const TileOptions& options);
/// The rows that tiles share; row(p) is that of the nonzero at place p of the walk.
template <class Row>
SharedRows shared_rows(const TiledShape& shape, const Row& row) {
  SharedRows shared;
  shared.joined.assign(Count{shape.tiles()} + 1, 0);
  for (std::uint32_t t = 1; t < shape.tiles(); ++t) {
    const Index first = row(shape.begin(t));
    if (first != row(shape.begin(t) - 1)) continue;
    shared.joined[t] = 1;
    if (shared.cut.empty() || shared.cut.back().row != first)
      shared.cut.push_back({first, t - 1, t});
    shared.cut.back().last = t;
  }
  return shared;
}

/// Throws InputError for a tensor of order 1, more than 2^32 - 1 nonzeros or options out of range.
/// Rows of equal output index are ordered by the indices of the modes before, the nearest first.
/// Parallel on all threads of OpenMP; the result does not depend on their number.
Tiled to_tiled(const Coo& tensor, const TileOptions& options);

/// The remapping of one pass: `in` holds the records in the storage order of `mode`, `out` receives
/// them in the next mode's.
void remap(const Tiled& tensor, int mode, std::span<const std::uint32_t> in,
           std::span<std::uint32_t> out);

}  // namespace retensor::flycoo
