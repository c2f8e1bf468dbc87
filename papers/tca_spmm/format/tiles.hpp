// S as tiles of 128 x 64 in the order of Hopper's tensor cores: an own format for matrices too
// dense for TCA-SpMM, sparsity 0.5 to 0.95, which multiplies decompressed tiles.
//
// A tile is eight strips of 16 rows. The left operand m16k16 of a warp's product is four registers
// a lane, each a pair of halves; a strip of four such steps has 16 registers a lane. Pairs without
// a nonzero are not stored, those of a lane stand side by side. So a lane finds its registers
// without a word from the others: its header tells which of the 16 are stored, and where the first
// one is. Tiles without nonzeros are not stored.
#pragma once

#include <cstdint>
#include <vector>

#include "common/core/types.hpp"
#include "common/tensor/array.hpp"
#include "common/tensor/coo.hpp"
#include "common/tensor/csr.hpp"

namespace retensor::tca_spmm {

inline constexpr unsigned kTileRows = 128, kTileDepth = 64, kStripRows = 16;
inline constexpr unsigned kTileStrips = kTileRows / kStripRows;
inline constexpr unsigned kStepDepth = 16;  ///< k of a product
inline constexpr unsigned kTileSteps = kTileDepth / kStepDepth;
inline constexpr unsigned kStepRegisters = 4;
inline constexpr unsigned kLaneRegisters = kTileSteps * kStepRegisters;  ///< of a strip
inline constexpr unsigned kStripLanes = 32;
inline constexpr unsigned kHeaderWords = kTileStrips * kStripLanes;
inline constexpr unsigned kVectorWords = 4;  ///< of 16 bytes
/// Where every cell has a nonzero.
inline constexpr unsigned kMostTileWords = kHeaderWords * (1 + kLaneRegisters);

struct Tiles {
  std::uint64_t rows = 0, cols = 0;
  std::vector<Count> tile_start;   ///< by row of tiles, the last is the number of tiles
  std::vector<Index> tile_column;  ///< by tile, in tiles; ascending in a row of tiles
  std::vector<Index> word_start;   ///< by tile, in vectors of words, the last is their number
  /// Of a tile first the headers by strip and lane: in the low half bit r where register r is
  /// stored, in the high half the word of the first one, counted from the tile's. Then the
  /// registers, as binary16 with the lower column in the low half, lane by lane in an order in
  /// which a warp's fetches meet in few banks; zeros up to a whole vector.
  Array<std::uint32_t> words;

  Count tiles() const { return tile_column.size(); }
  Count row_tiles() const { return tile_start.size() - 1; }
  Count most_words() const;  ///< of a tile
  Count bytes() const;
  /// The elements that are not zero, tile by tile, in single precision.
  Coo to_coo() const;
  /// Throws InputError naming the first tile that breaks an invariant: array lengths, tiles of a
  /// row ascending, each word of a tile a header, a register of one lane or padding, indices inside
  /// the matrix, values finite.
  void check() const;
};

/// Where an element of a strip stands.
struct StripPlace {
  unsigned lane, reg, half;
};
constexpr StripPlace strip_place(unsigned row, unsigned column) {
  const unsigned in_step = column % kStepDepth;
  return {row % 8 * 4 + in_step % 8 / 2,
          column / kStepDepth * kStepRegisters + in_step / 8 * 2 + row / 8, column % 2};
}

/// `matrix` in single precision, columns of a row ascending; equal coordinates are added up, then
/// rounded. Throws InputError where it breaks an invariant of CSR or has 2^32 vectors of words.
Tiles to_tiles(const Csr& matrix);

}  // namespace retensor::tca_spmm
