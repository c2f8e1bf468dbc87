// Tiles: every nonzero once at its place, padding, and sums of equal coordinates.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "common/core/error.hpp"
#include "common/generate/generators.hpp"
#include "common/numeric/rounding.hpp"
#include "common/tensor/operations.hpp"
#include "papers/tca_spmm/format/tiles.hpp"
#include "papers/tca_spmm/tests/unit/cells.hpp"

using namespace retensor;
using namespace retensor::tca_spmm;

namespace {

Cells cells_of(const Tiles& tiles) {
  return tca_spmm::cells_of(tiles.to_coo());
}

}  // namespace

TEST_CASE("places in registers are those of the left operand of a product, each once") {
  std::set<std::tuple<unsigned, unsigned, unsigned>> places;
  for (unsigned r = 0; r < kStripRows; ++r)
    for (unsigned c = 0; c < kTileDepth; ++c) {
      const auto [lane, reg, half] = strip_place(r, c);
      REQUIRE((lane < kStripLanes && reg < kLaneRegisters && half < 2));
      places.emplace(lane, reg, half);
    }
  CHECK(places.size() == kStripRows * kTileDepth);
  const auto at = [](unsigned row, unsigned column) {
    const auto [lane, reg, half] = strip_place(row, column);
    return std::tuple(lane, reg, half);
  };
  CHECK(at(0, 1) == std::tuple(0, 0, 1));
  CHECK(at(8, 0) == std::tuple(0, 1, 0));
  CHECK(at(0, 8) == std::tuple(0, 2, 0));
  CHECK(at(15, 63) == std::tuple(31, 15, 1));
}

TEST_CASE("tiles hold the nonzeros of the matrix and no others") {
  for (const Count nnz : {1, 700, 9000, 60000}) {
    const Coo matrix = uniform({300, 200}, nnz, nnz, DType::f32);
    const Tiles tiles = to_tiles(to_csr(matrix));
    CHECK(tiles.row_tiles() == 3);
    tiles.check();
    CHECK(cells_of(tiles) == cells_of(matrix));
    CHECK(tiles.most_words() <= kMostTileWords);
  }
}

TEST_CASE("tiles with a lost register, a wrong place or a wrong value hold another matrix") {
  const Coo matrix = uniform({128, 64}, 3000, 5, DType::f32);
  const Cells expected = cells_of(matrix);
  const Tiles tiles = to_tiles(to_csr(matrix));
  REQUIRE(cells_of(tiles) == expected);
  Tiles damaged = tiles;
  std::swap(damaged.words[0], damaged.words[kStripLanes]);
  CHECK(cells_of(damaged) != expected);
  damaged = tiles;
  damaged.words[1] += 1u << 16;
  CHECK(cells_of(damaged) != expected);
  damaged = tiles;
  damaged.words[kHeaderWords] ^= 1;
  CHECK(cells_of(damaged) != expected);
}

TEST_CASE("lanes are ordered so that fetches of a register meet in few banks") {
  const Tiles tiles = to_tiles(to_csr(uniform({128, 64}, 128 * 64 / 10, 7, DType::f32)));
  const auto fetches = [&](bool as_stored) {
    Count sum = 0;
    for (unsigned strip = 0; strip < kTileStrips; ++strip) {
      Count in_order = 0;  // where a lane's registers would be behind those of the lanes before
      std::array<std::map<Count, Count>, kLaneRegisters> of_bank;
      for (unsigned lane = 0; lane < kStripLanes; ++lane) {
        const auto header = tiles.words[strip * kStripLanes + lane];
        Count word = as_stored ? header >> 16 : in_order;
        for (unsigned r = 0; r < kLaneRegisters; ++r)
          if ((header >> r & 1) != 0) ++of_bank[r][word++ % 32], ++in_order;
      }
      for (const auto& banks : of_bank) {
        Count most = 0;
        for (const auto& [bank, count] : banks) most = std::max(most, count);
        sum += most;
      }
    }
    return sum;
  };
  CHECK(fetches(true) <= 1.1 * kTileStrips * kLaneRegisters);
  CHECK(fetches(false) > 1.2 * kTileStrips * kLaneRegisters);
}

TEST_CASE("a full tile is of the largest size, tiles without nonzeros are not stored") {
  CHECK(to_tiles(to_csr(uniform({128, 64}, 128 * 64, 1, DType::f32))).most_words() ==
        kMostTileWords);
  Coo matrix({400, 1000}, DType::f32, 2);
  matrix.indices[0] = {130, 399};
  matrix.indices[1] = {999, 0};
  matrix.values.set(0, 2), matrix.values.set(1, 3);
  const Tiles tiles = to_tiles(to_csr(matrix));
  CHECK(tiles.tile_start == std::vector<Count>{0, 0, 1, 1, 2});
  CHECK(tiles.tile_column == std::vector<Index>{15, 0});
  CHECK(tiles.words.size() == 2 * (kHeaderWords + kVectorWords));
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
