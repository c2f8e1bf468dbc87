// Tiles: every nonzero once at its place, padding, and sums of equal coordinates.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "common/core/error.hpp"
#include "common/generate/generators.hpp"
#include "common/numeric/rounding.hpp"
#include "common/tensor/operations.hpp"
#include "papers/tca_spmm/csr_sums.hpp"
#include "papers/tca_spmm/tiles.hpp"

using namespace retensor;
using namespace retensor::tca_spmm;

namespace {

using Cells = std::map<std::pair<Count, Count>, std::uint16_t>;

/// Cells by coordinate; the column of a place is found by trial.
Cells cells_of(const Tiles& tiles) {
  std::map<unsigned, std::pair<unsigned, unsigned>> cell;
  for (unsigned r = 0; r < kStripRows; ++r)
    for (unsigned c = 0; c < kTileDepth; ++c) cell[place_in_strip(r, c)] = {r, c};
  Cells cells;
  for (Count row = 0; row < tiles.row_tiles(); ++row)
    for (Count t = tiles.tile_start[row]; t < tiles.tile_start[row + 1]; ++t)
      for (Count s = 0; s < kTileStrips; ++s)
        for (Count e = tiles.entry_start[t * kTileStrips + s] * kEntryVector;
             e < tiles.entry_start[t * kTileStrips + s + 1] * kEntryVector; ++e) {
          const auto [r, c] = cell.at(tiles.entries[e] & 0xffff);
          cells[{row * kTileRows + s * kStripRows + r,
                 tiles.tile_column[t] * Count{kTileDepth} + c}] =
              static_cast<std::uint16_t>(tiles.entries[e] >> 16);
        }
  return cells;
}

Cells cells_of(const Coo& matrix) {
  Cells cells;
  for (Count x = 0; x < matrix.nnz(); ++x)
    cells[{matrix.indices[0][x], matrix.indices[1][x]}] =
        to_fp16_bits(static_cast<float>(matrix.values.at(x)));
  return cells;
}

}  // namespace

TEST_CASE("places of a strip are its 1024 halves, each once") {
  std::set<unsigned> places;
  for (unsigned r = 0; r < kStripRows; ++r)
    for (unsigned c = 0; c < kTileDepth; ++c) places.insert(place_in_strip(r, c));
  CHECK(places.size() == kStripRows * kTileDepth);
  CHECK(*places.rbegin() == 2 * kStripRows * kTileDepth - 2);
  CHECK(place_in_strip(0, 9) == 18);
  CHECK(place_in_strip(3, 9) == 3 * 128 + (1 ^ 3) * 16 + 2);
}

TEST_CASE("entries are dealt out: each is there, and few of those stored at once share a bank") {
  const Coo strip = uniform({kStripRows, kTileDepth}, 102, 3, DType::f32);
  std::vector<std::uint32_t> entries;
  for (Count x = 0; x < strip.nnz(); ++x)
    entries.push_back(entry_of(strip.indices[0][x], strip.indices[1][x], 1));
  const auto most = [](const std::vector<std::uint32_t>& order) {
    Count worst = 0;
    for (Count j = 0; j < kEntryVector; ++j) {
      std::map<unsigned, Count> of_bank;
      for (Count e = j; e < order.size(); e += kEntryVector)
        worst = std::max(worst, ++of_bank[(order[e] & 0xffff) / 4 % 32]);
    }
    return worst;
  };
  const auto dealt = dealt_out(entries);
  CHECK(dealt.size() == 104);
  CHECK(std::set(dealt.begin(), dealt.end()) == std::set(entries.begin(), entries.end()));
  CHECK(most(dealt) <= 3);
  CHECK(most(entries) > 3);
  // 33 vectors: a second store of one vector.
  const auto longer = dealt_out(std::vector<std::uint32_t>(129, 7));
  CHECK(longer == std::vector<std::uint32_t>(132, 7));
}

TEST_CASE("tiles hold the nonzeros of the matrix and no others") {
  for (const Count nnz : {1, 700, 9000}) {
    const Coo matrix = uniform({300, 200}, nnz, nnz, DType::f32);
    const Tiles tiles = to_tiles(to_csr(matrix));
    CHECK(tiles.row_tiles() == 3);
    CHECK(cells_of(tiles) == cells_of(matrix));
    CHECK(tiles.entry_start.size() == tiles.tiles() * kTileStrips + 1);
  }
}

TEST_CASE("tiles without nonzeros are not stored") {
  Coo matrix({400, 1000}, DType::f32, 2);
  matrix.indices[0] = {130, 399};
  matrix.indices[1] = {999, 0};
  matrix.values.set(0, 2), matrix.values.set(1, 3);
  const Tiles tiles = to_tiles(to_csr(matrix));
  CHECK(tiles.tile_start == std::vector<Count>{0, 0, 1, 1, 2});
  CHECK(tiles.tile_column == std::vector<Index>{15, 0});
  CHECK(tiles.entries.size() == 2 * kEntryVector);
}

TEST_CASE("equal coordinates are added up; damaged CSR is refused") {
  Csr s;
  s.rows = 1, s.cols = 4;
  s.row_start = {0, 3};
  s.columns = {1, 1, 3};
  s.values = Array<float>{1, 2, 5};
  const Cells expected = {{{0, 1}, to_fp16_bits(3)}, {{0, 3}, to_fp16_bits(5)}};
  CHECK(cells_of(to_tiles(s)) == expected);
  s.columns[2] = 4;
  CHECK_THROWS_AS(to_tiles(s), InputError);
}
