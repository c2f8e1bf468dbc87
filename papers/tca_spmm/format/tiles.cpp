#include "papers/tca_spmm/format/tiles.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "common/core/message.hpp"
#include "common/numeric/rounding.hpp"
#include "papers/tca_spmm/format/csr_sums.hpp"

namespace retensor::tca_spmm {
namespace {

constexpr Count kMostVectors = Count{1} << 32;

/// A cell of a tile that is not zero.
struct Cell {
  unsigned row, column;
  std::uint16_t value;
};

/// A row of tiles, those that have nonzeros.
struct TileRow {
  std::vector<Index> columns, vectors;
  std::vector<std::uint32_t> words;
};

/// A lane's registers of a strip; bit r of `stored` where register r has a nonzero.
struct Lane {
  std::uint32_t stored = 0;
  std::array<std::uint32_t, kLaneRegisters> registers{};
};
using Strip = std::array<Lane, kStripLanes>;

/// Calls f(register, word) for each register that a lane stores, in words from `word` on.
template <class F>
void for_each_stored(std::uint32_t stored, Count word, const F& f) {
  for (; stored != 0; stored &= stored - 1)
    f(static_cast<unsigned>(std::countr_zero(stored)), word++);
}

/// Appends the registers of a strip to a tile that begins at word `first`, and notes in its headers
/// where they are. A warp fetches register r of all its lanes at once, and those that lie in one
/// bank of shared memory one after the other: next comes the lane whose registers meet the fewest
/// others each.
void add_strip(const Strip& strip, Count first, Count headers, std::vector<std::uint32_t>& words) {
  constexpr unsigned kBanks = 32;
  std::array<std::array<std::uint8_t, kBanks>, kLaneRegisters> taken{};
  std::vector<unsigned> left;
  for (unsigned lane = 0; lane < kStripLanes; ++lane)
    if (strip[lane].stored != 0) left.push_back(lane);
  while (!left.empty()) {
    const Count begin = words.size() - first;
    const auto cost = [&](unsigned lane) {
      unsigned meetings = 0;
      for_each_stored(strip[lane].stored, begin,
                      [&](unsigned reg, Count word) { meetings += taken[reg][word % kBanks]; });
      return static_cast<float>(meetings) / static_cast<float>(std::popcount(strip[lane].stored));
    };
    const auto next = std::min_element(left.begin(), left.end(),
                                       [&](unsigned a, unsigned b) { return cost(a) < cost(b); });
    const Lane& lane = strip[*next];
    words[headers + *next] = static_cast<std::uint32_t>(begin) << 16 | lane.stored;
    for_each_stored(lane.stored, begin, [&](unsigned reg, Count word) {
      ++taken[reg][word % kBanks];
      words.push_back(lane.registers[reg]);
    });
    left.erase(next);
  }
}

/// Appends the tile's words.
void add_tile(const std::vector<Cell>& cells, std::vector<std::uint32_t>& words) {
  std::array<Strip, kTileStrips> strips{};
  for (const Cell& cell : cells) {
    const auto [number, reg, half] = strip_place(cell.row % kStripRows, cell.column);
    Lane& lane = strips[cell.row / kStripRows][number];
    lane.stored |= 1u << reg;
    lane.registers[reg] |= std::uint32_t{cell.value} << 16 * half;
  }
  const Count first = words.size();
  words.resize(first + kHeaderWords, 0);
  for (unsigned s = 0; s < kTileStrips; ++s)
    add_strip(strips[s], first, first + s * kStripLanes, words);
  words.resize((words.size() + kVectorWords - 1) / kVectorWords * kVectorWords, 0);
}

TileRow tile_row(const Csr& matrix, Count number) {
  std::vector<std::vector<Cell>> tiles((matrix.cols + kTileDepth - 1) / kTileDepth);
  const Count first = number * kTileRows, end = std::min<Count>(first + kTileRows, matrix.rows);
  for (Count row = first; row < end; ++row)
    for_each_sum(matrix, row, [&](Index column, float sum) {
      tiles[column / kTileDepth].push_back(
          {static_cast<unsigned>(row - first), column % kTileDepth, to_fp16_bits(sum)});
    });
  TileRow result;
  for (Count column = 0; column < tiles.size(); ++column) {
    if (tiles[column].empty()) continue;
    const Count before = result.words.size();
    add_tile(tiles[column], result.words);
    result.columns.push_back(static_cast<Index>(column));
    result.vectors.push_back(static_cast<Index>((result.words.size() - before) / kVectorWords));
  }
  return result;
}

/// Calls f(header's number, register, word) for each register that tile t stores.
template <class F>
void for_each_register(const Tiles& tiles, Count t, const F& f) {
  const auto* const headers = &tiles.words[tiles.word_start[t] * Count{kVectorWords}];
  for (unsigned h = 0; h < kHeaderWords; ++h)
    for_each_stored(headers[h] & 0xffff, headers[h] >> 16,
                    [&](unsigned reg, Count word) { f(h, reg, word); });
}

void check_arrays(const Tiles& tiles) {
  if (tiles.tile_start.size() != (tiles.rows + kTileRows - 1) / kTileRows + 1 ||
      tiles.tile_start.front() != 0 || tiles.tile_start.back() != tiles.tiles())
    throw input_error("tiles: the rows of tiles are not those of the matrix");
  if (tiles.word_start.size() != tiles.tiles() + 1 || tiles.word_start.front() != 0 ||
      tiles.words.size() != tiles.word_start.back() * Count{kVectorWords})
    throw input_error("tiles: numbers of tiles and words disagree");
  for (Count row = 0; row < tiles.row_tiles(); ++row) {
    const Count begin = tiles.tile_start[row], end = tiles.tile_start[row + 1];
    if (end < begin || end > tiles.tiles())
      throw input_error("tiles: row {} ends before its start", row);
    for (Count t = begin; t < end; ++t)
      if (tiles.tile_column[t] >= (tiles.cols + kTileDepth - 1) / kTileDepth ||
          (t > begin && tiles.tile_column[t] <= tiles.tile_column[t - 1]))
        throw input_error("tile {}: column {} is beyond the matrix or does not ascend", t,
                          tiles.tile_column[t]);
  }
}

void check_words_of(const Tiles& tiles, Count t) {
  const Count first = tiles.word_start[t] * Count{kVectorWords};
  const Count size = tiles.word_start[t + 1] * Count{kVectorWords} - first;
  if (tiles.word_start[t + 1] < tiles.word_start[t] || size <= kHeaderWords ||
      size > kMostTileWords || first + size > tiles.words.size())
    throw input_error("tile {}: its words are too few or too many", t);
  std::vector<bool> taken(size, false);
  Count used = kHeaderWords;
  for_each_register(tiles, t, [&](unsigned, unsigned, Count word) {
    if (word < kHeaderWords || word >= size || taken[word])
      throw input_error("tile {}: word {} of a lane is beyond it or taken", t, word);
    taken[word] = true;
    ++used;
  });
  if (size - used >= kVectorWords)
    throw input_error("tile {}: {} words belong to no lane", t, size - used);
  for (Count word = kHeaderWords; word < size; ++word)
    if (!taken[word] && tiles.words[first + word] != 0)
      throw input_error("tile {}: padding is not zero", t);
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

Coo Tiles::to_coo() const {
  Coo matrix({rows, cols}, DType::f32);
  Array<float> values;
  for (Count row = 0; row < row_tiles(); ++row)
    for (Count t = tile_start[row]; t < tile_start[row + 1]; ++t)
      for_each_register(*this, t, [&](unsigned header, unsigned reg, Count word) {
        const auto pair = words[word_start[t] * Count{kVectorWords} + word];
        const unsigned lane = header % kStripLanes;
        const unsigned in_row = header / kStripLanes * kStripRows + lane / 4 + reg % 2 * 8;
        const unsigned in_column =
            reg / kStepRegisters * kStepDepth + reg / 2 % 2 * 8 + lane % 4 * 2;
        for (unsigned half = 0; half < 2; ++half) {
          const float value = from_fp16_bits(static_cast<std::uint16_t>(pair >> 16 * half));
          if (value == 0) continue;
          matrix.indices[0].push_back(static_cast<Index>(row * kTileRows + in_row));
          matrix.indices[1].push_back(tile_column[t] * kTileDepth + in_column + half);
          values.push_back(value);
        }
      });
  matrix.values = std::move(values);
  return matrix;
}

void Tiles::check() const {
  check_arrays(*this);
  for (Count t = 0; t < tiles(); ++t) check_words_of(*this, t);
  to_coo().check();
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
      if (vectors >= kMostVectors) throw input_error("S has 2^32 vectors of words or more");
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
