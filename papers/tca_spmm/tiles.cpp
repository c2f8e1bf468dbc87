#include "papers/tca_spmm/tiles.hpp"

#include <algorithm>

#include "common/core/error.hpp"
#include "common/numeric/rounding.hpp"
#include "papers/tca_spmm/csr_sums.hpp"

namespace retensor::tca_spmm {
namespace {

constexpr Count kMostVectors = Count{1} << 32;

/// Elements of a tile as place * 2^16 + value, where place = ((strip * 32 + lane) * 16 + register)
/// * 2 + half, so that they sort by it.
using Elements = std::vector<std::uint32_t>;

/// A row of tiles, those that have nonzeros.
struct TileRow {
  std::vector<Index> columns, vectors;
  std::vector<std::uint32_t> words;
};

std::uint32_t element_of(unsigned row, unsigned column, float value) {
  const auto [lane, reg, half] = strip_place(row % kStripRows, column);
  const unsigned header = row / kStripRows * kStripLanes + lane;
  return ((header * kLaneRegisters + reg) * 2 + half) << 16 | to_fp16_bits(value);
}

/// Appends the tile's words.
void add_words(Elements& elements, std::vector<std::uint32_t>& words) {
  std::sort(elements.begin(), elements.end());
  const Count first = words.size();
  words.resize(first + kHeaderWords, 0);
  auto last = ~std::uint32_t{0};  // register of the element before, all lanes' counted through
  for (const auto element : elements) {
    const std::uint32_t reg = element >> 17, half = element >> 16 & 1;
    if (reg != last) {
      std::uint32_t& header = words[first + reg / kLaneRegisters];
      if (header == 0) header = static_cast<std::uint32_t>(words.size() - first) << 16;
      header |= 1u << reg % kLaneRegisters;
      words.push_back(0);
    }
    words.back() |= (element & 0xffff) << 16 * half;
    last = reg;
  }
  words.resize((words.size() + kVectorWords - 1) / kVectorWords * kVectorWords, 0);
}

TileRow tile_row(const Csr& matrix, Count number) {
  std::vector<Elements> tiles((matrix.cols + kTileDepth - 1) / kTileDepth);
  const Count first = number * kTileRows, end = std::min<Count>(first + kTileRows, matrix.rows);
  for (Count row = first; row < end; ++row)
    for_each_sum(matrix, row, [&](Index column, float sum) {
      tiles[column / kTileDepth].push_back(
          element_of(static_cast<unsigned>(row - first), column % kTileDepth, sum));
    });
  TileRow result;
  for (Count column = 0; column < tiles.size(); ++column) {
    if (tiles[column].empty()) continue;
    const Count before = result.words.size();
    add_words(tiles[column], result.words);
    result.columns.push_back(static_cast<Index>(column));
    result.vectors.push_back(static_cast<Index>((result.words.size() - before) / kVectorWords));
  }
  return result;
}

}  // namespace

Count Tiles::most_words() const {
  Count most = 0;
  for (Count t = 0; t < tiles(); ++t)
    most = std::max<Count>(most, (word_start[t + 1] - word_start[t]) * Count{kVectorWords});
  return most;
}

Count Tiles::bytes() const {
  return tile_start.size() * sizeof(Count) +
         (tile_column.size() + word_start.size()) * sizeof(Index) +
         words.size() * sizeof(std::uint32_t);
}

Tiles to_tiles(const Csr& matrix) {
  matrix.check();
  std::vector<TileRow> rows((matrix.rows + kTileRows - 1) / kTileRows);
#pragma omp parallel for schedule(dynamic, 1)
  for (Count r = 0; r < rows.size(); ++r) rows[r] = tile_row(matrix, r);
  Tiles tiles{matrix.rows, matrix.cols, {0}, {}, {0}, {}};
  Count vectors = 0;
  for (const auto& row : rows) {
    tiles.tile_column.insert(tiles.tile_column.end(), row.columns.begin(), row.columns.end());
    for (const Index n : row.vectors) {
      vectors += n;
      if (vectors >= kMostVectors) throw InputError("S has 2^32 vectors of words or more");
      tiles.word_start.push_back(static_cast<Index>(vectors));
    }
    tiles.tile_start.push_back(tiles.tiles());
  }
  tiles.words = Array<std::uint32_t>(vectors * kVectorWords);
  auto to = tiles.words.begin();
  for (const auto& row : rows) to = std::copy(row.words.begin(), row.words.end(), to);
  return tiles;
}

}  // namespace retensor::tca_spmm
