#include "papers/tca_spmm/format/tiles.hpp"

#include <algorithm>
#include <array>
#include <bit>

#include "common/core/error.hpp"
#include "common/numeric/rounding.hpp"
#include "papers/tca_spmm/format/csr_sums.hpp"

namespace retensor::tca_spmm {
namespace {

constexpr Count kMostVectors = Count{1} << 32;

/// Elements of a tile as place * 2^16 + value, where place = ((strip * 32 + lane) * 16 + register)
/// * 2 + half, so that they sort by it.
using Elements = std::vector<std::uint32_t>;

unsigned strip_of(std::uint32_t element) {
  return element >> 26;
}

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

/// A lane's registers of a strip; bit r of `stored` where register r has a nonzero.
struct Lane {
  std::uint32_t stored = 0;
  std::array<std::uint32_t, kLaneRegisters> registers{};
};
using Strip = std::array<Lane, kStripLanes>;

/// Where lanes of a strip put their registers, word by word: a warp fetches register r of all its
/// lanes at once, and those that lie in one bank of shared memory one after the other.
class Banks {
 public:
  /// Meetings with words that are there, if the lane's first one is `word`.
  unsigned meetings(std::uint32_t stored, Count word) const {
    unsigned sum = 0;
    for (; stored != 0; stored &= stored - 1, ++word)
      sum += taken_[register_of(stored)][bank(word)];
    return sum;
  }
  void take(std::uint32_t stored, Count word) {
    for (; stored != 0; stored &= stored - 1, ++word) ++taken_[register_of(stored)][bank(word)];
  }

 private:
  static constexpr unsigned kBanks = 32;
  static unsigned register_of(std::uint32_t stored) {
    return static_cast<unsigned>(std::countr_zero(stored));
  }
  static unsigned bank(Count word) { return word % kBanks; }

  std::array<std::array<std::uint8_t, kBanks>, kLaneRegisters> taken_{};
};

/// Appends the registers of a strip and notes where they are. Next comes the lane whose registers
/// meet the fewest others each.
void add_strip(const Strip& strip, Count first, std::uint32_t* headers,
               std::vector<std::uint32_t>& words) {
  Banks banks;
  std::vector<unsigned> left;
  for (unsigned lane = 0; lane < kStripLanes; ++lane)
    if (strip[lane].stored != 0) left.push_back(lane);
  while (!left.empty()) {
    const Count word = words.size() - first;
    const auto cost = [&](unsigned lane) {
      const auto stored = strip[lane].stored;
      return static_cast<float>(banks.meetings(stored, word)) /
             static_cast<float>(std::popcount(stored));
    };
    const auto next = std::min_element(left.begin(), left.end(),
                                       [&](unsigned a, unsigned b) { return cost(a) < cost(b); });
    const Lane& lane = strip[*next];
    headers[*next] = static_cast<std::uint32_t>(word) << 16 | lane.stored;
    banks.take(lane.stored, word);
    for (unsigned r = 0; r < kLaneRegisters; ++r)
      if ((lane.stored >> r & 1) != 0) words.push_back(lane.registers[r]);
    left.erase(next);
  }
}

/// Appends the tile's words.
void add_tile(Elements& elements, std::vector<std::uint32_t>& words) {
  std::sort(elements.begin(), elements.end());
  const Count first = words.size();
  words.resize(first + kHeaderWords, 0);
  std::array<std::uint32_t, kHeaderWords> headers{};
  for (auto e = elements.begin(); e != elements.end();) {
    const unsigned number = strip_of(*e);
    Strip strip;
    for (; e != elements.end() && strip_of(*e) == number; ++e) {
      Lane& lane = strip[*e >> 21 & (kStripLanes - 1)];
      const unsigned reg = *e >> 17 & (kLaneRegisters - 1), half = *e >> 16 & 1;
      lane.stored |= 1u << reg;
      lane.registers[reg] |= (*e & 0xffff) << 16 * half;
    }
    add_strip(strip, first, &headers[number * kStripLanes], words);
  }
  std::copy(headers.begin(), headers.end(), words.begin() + static_cast<std::ptrdiff_t>(first));
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
    add_tile(tiles[column], result.words);
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
