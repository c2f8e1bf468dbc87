// S as tiles of 128 x 64 whose nonzeros carry their place in shared memory: an own format for
// matrices too dense for TCA-SpMM, sparsity 0.5 to 0.95, which multiplies decompressed tiles.
//
// A tile is eight strips of 16 rows. In shared memory a strip has 16 rows of 128 bytes, whose eight
// 16-byte vectors stand in another order in each of eight rows, vector v of row r at v xor (r mod
// 8), as the tensor cores of Hopper know it (128-byte swizzle) and so that fetches meet in no bank.
// A nonzero is 32 bits: its place in the strip in bytes, and above it the value as binary16. Tiles
// without nonzeros are not stored.
#pragma once

#include <cstdint>
#include <vector>

#include "common/core/types.hpp"
#include "common/tensor/array.hpp"
#include "common/tensor/csr.hpp"

namespace retensor::tca_spmm {

inline constexpr unsigned kTileRows = 128, kTileDepth = 64, kStripRows = 16;
inline constexpr unsigned kTileStrips = kTileRows / kStripRows;
inline constexpr unsigned kEntryVector = 4;  ///< entries of 16 bytes

struct Tiles {
  std::uint64_t rows = 0, cols = 0;
  std::vector<Count> tile_start;   ///< by row of tiles, the last is the number of tiles
  std::vector<Index> tile_column;  ///< by tile, in tiles; ascending in a row of tiles
  std::vector<Index> entry_start;  ///< by strip of each tile, in vectors of entries
  Array<std::uint32_t> entries;    ///< those of a strip as dealt_out() orders them

  Count tiles() const { return tile_column.size(); }
  Count row_tiles() const { return tile_start.size() - 1; }
  Count bytes() const;
};

/// Byte of element (row, column) of a strip in shared memory.
constexpr unsigned place_in_strip(unsigned row, unsigned column) {
  return row * 2 * kTileDepth + (column / 8 ^ row % 8) * 16 + column % 8 * 2;
}

/// `matrix` in single precision, columns of a row ascending; equal coordinates are added up, then
/// rounded. Throws InputError where it breaks an invariant of CSR or has 2^32 vectors of entries.
Tiles to_tiles(const Csr& matrix);

}  // namespace retensor::tca_spmm
