#include "papers/tca_spmm/tiles.hpp"

#include <algorithm>

#include "common/core/error.hpp"
#include "papers/tca_spmm/csr_sums.hpp"

namespace retensor::tca_spmm {
namespace {

constexpr Count kMostVectors = Count{1} << 32;

/// Calls f(strip, row, column, sum) for a row of tiles; strips are numbered through its columns of
/// tiles.
template <class F>
void for_each_entry(const Csr& matrix, Count tile_row, const F& f) {
  const Count first = tile_row * kTileRows, end = std::min<Count>(first + kTileRows, matrix.rows);
  for (Count row = first; row < end; ++row)
    for_each_sum(matrix, row, [&](Index column, float sum) {
      f(column / kTileDepth * kTileStrips + (row - first) / kStripRows, row, column, sum);
    });
}

/// Tiles of a row and the vectors of their strips, behind those of the rows before it.
void add_tiles(const std::vector<Count>& entries, Tiles& tiles, Count& vectors) {
  for (Count column = 0; column < entries.size() / kTileStrips; ++column) {
    const Count* const strips = &entries[column * kTileStrips];
    if (std::all_of(strips, strips + kTileStrips, [](Count n) { return n == 0; })) continue;
    tiles.tile_column.push_back(static_cast<Index>(column));
    for (unsigned s = 0; s < kTileStrips; ++s) {
      vectors += vectors_of(strips[s]);
      if (vectors >= kMostVectors) throw InputError("S has 2^32 vectors of entries or more");
      tiles.entry_start.push_back(static_cast<Index>(vectors));
    }
  }
  tiles.tile_start.push_back(tiles.tiles());
}

void fill_tiles(const Csr& matrix, Count tile_row, Count columns, Tiles& tiles) {
  std::vector<std::vector<std::uint32_t>> strips(columns * kTileStrips);
  for_each_entry(matrix, tile_row, [&](Count strip, Count row, Index column, float sum) {
    strips[strip].push_back(
        entry_of(static_cast<unsigned>(row % kStripRows), column % kTileDepth, sum));
  });
  for (Count t = tiles.tile_start[tile_row]; t < tiles.tile_start[tile_row + 1]; ++t)
    for (unsigned s = 0; s < kTileStrips; ++s) {
      const auto& strip = strips[tiles.tile_column[t] * Count{kTileStrips} + s];
      if (strip.empty()) continue;
      const auto dealt = dealt_out(strip);
      std::copy(
          dealt.begin(), dealt.end(),
          tiles.entries.begin() + tiles.entry_start[t * kTileStrips + s] * Count{kEntryVector});
    }
}

}  // namespace

Count Tiles::bytes() const {
  return tile_start.size() * sizeof(Count) +
         (tile_column.size() + entry_start.size()) * sizeof(Index) +
         entries.size() * sizeof(std::uint32_t);
}

Tiles to_tiles(const Csr& matrix) {
  matrix.check();
  Tiles tiles{matrix.rows, matrix.cols, {0}, {}, {0}, {}};
  const Count row_tiles = (matrix.rows + kTileRows - 1) / kTileRows;
  const Count columns = (matrix.cols + kTileDepth - 1) / kTileDepth;
  Count vectors = 0;
  for (Count r = 0; r < row_tiles; ++r) {
    std::vector<Count> entries(columns * kTileStrips, 0);
    for_each_entry(matrix, r, [&](Count strip, Count, Index, float) { ++entries[strip]; });
    add_tiles(entries, tiles, vectors);
  }
  tiles.entries = Array<std::uint32_t>(vectors * kEntryVector);
#pragma omp parallel for schedule(dynamic, 1)
  for (Count r = 0; r < row_tiles; ++r) fill_tiles(matrix, r, columns, tiles);
  return tiles;
}

}  // namespace retensor::tca_spmm
