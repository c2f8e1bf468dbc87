// HLS: the paper's worked examples, round trips, equations 11 to 16, and what check() must refuse.
#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>

#include "common/core/error.hpp"
#include "common/generate/generators.hpp"
#include "common/numeric/rounding.hpp"
#include "papers/hlsto/format/hls.hpp"
#include "tests/support/complaint.hpp"
#include "tests/support/entries.hpp"
#include "tests/support/values.hpp"

using namespace retensor;
using namespace retensor::hlsto;
using namespace retensor::test;

namespace {

Coo clustered(const Dims& dims, Count nnz, std::uint64_t seed) {
  return tensor_of(dims, clustered_entries(dims, nnz, seed));
}

Hls small_hls() {
  return to_hls(clustered({40, 33, 50}, 600, 3), {.edge_bits = 3, .threshold = 3});
}

}  // namespace

TEST_CASE("Fig. 4a: the linear index of (1, 3, 3) in 6 x 4 x 4 is 0011111") {
  const Grid grid({6, 4, 4}, {.edge_bits = 1});
  const auto& index = grid.nonzero_index();
  CHECK(index.bits() == 7);
  CHECK((index.width(0) == 3 && index.width(1) == 2 && index.width(2) == 2));
  const std::vector<Index> at = {1, 3, 3};
  CHECK(index.encode<std::uint64_t>(at) == 0b0011111);
}

TEST_CASE("Fig. 4b: cells 0, 3 and 7 of a tile of edge 2 are the bitmap 10010001") {
  const auto hls = to_hls(numbered({2, 2, 2}, {{0, 0, 0}, {0, 1, 1}, {1, 1, 1}}),
                          {.edge_bits = 1, .threshold = 1});
  REQUIRE(hls.dense_tiles == 1);
  std::string drawn;  // the paper draws cell 0 first
  for (int cell = 0; cell < 8; ++cell) drawn += (hls.bitmap[0] >> cell & 1) != 0 ? '1' : '0';
  CHECK(drawn == "10010001");
}

TEST_CASE("tiles are classified by the threshold") {
  // Three nonzeros in tile (0, 0, 0), two in tile (1, 0, 0) of edge 2.
  const auto tensor = numbered({4, 2, 2}, {{0, 0, 0}, {0, 1, 1}, {1, 1, 1}, {2, 0, 1}, {3, 1, 0}});
  const auto dense_tiles = [&](Count threshold) {
    return to_hls(tensor, {.edge_bits = 1, .threshold = threshold}).dense_tiles;
  };
  CHECK(dense_tiles(1) == 2);
  CHECK(dense_tiles(2) == 2);
  CHECK(dense_tiles(3) == 1);
  CHECK(dense_tiles(4) == 0);
  const auto hls = to_hls(tensor, {.edge_bits = 1, .threshold = 3});
  CHECK(hls.tiles == 2);
  CHECK(hls.sparse_nonzeros == 2);
  CHECK(hls.grid.nonzero_index().decode(hls.nonzero_index.at(0), 0) == 2);
}

TEST_CASE("every nonzero comes back, for all orders, edges, thresholds and value types") {
  const std::vector<Dims> shapes = {{40, 33, 50},
                                    {3, 200, 17},
                                    {1, 1, 1},
                                    {5, 40, 33, 60},
                                    {100, 2, 50, 3},
                                    {20, 3, 30, 2, 25},
                                    {5'000'000, 9'000'000, 4'000'000}};  // keys of 69 bits
  std::uint64_t seed = 1;
  for (const auto& dims : shapes)
    for (const int edge_bits : {0, 1, 3, 4, 5})
      for (const Count threshold : {Count{1}, Count{4}, Count{78}, kNoTileIsDense}) {
        const auto type = static_cast<ValueType>(seed % 3);
        const auto tensor = clustered(dims, 400, seed++);
        const auto hls =
            to_hls(tensor, {.edge_bits = edge_bits, .threshold = threshold, .values = type});
        CAPTURE(dims.size());
        CAPTURE(edge_bits);
        CAPTURE(threshold);
        hls.check();
        CHECK(hls.nnz() == tensor.nnz());
        CHECK(entries_of(hls.to_coo(), ValueType::f32) == entries_of(tensor, type));
        if (threshold == 1) CHECK(hls.sparse_nonzeros == 0);
        if (threshold == kNoTileIsDense) CHECK(hls.dense_tiles == 0);
      }
}

TEST_CASE("Fig. 3: tiles of a 6 x 4 x 4 tensor as they lie") {
  const auto tensor = numbered({6, 4, 4}, {{0, 0, 0}, {0, 1, 1}, {1, 1, 1}, {1, 3, 3}, {5, 0, 2}});
  CHECK(layout_text(to_hls(tensor, {.edge_bits = 1, .threshold = 3})) ==
        "D 00 0 0, 10010001, 1 2 3; S 001 11 11, 4; S 101 00 10, 5");
  CHECK(layout_text(to_hls(Coo({6, 4, 4}, DType::f32), {})).empty());
}

TEST_CASE("the three longest modes are tiled, the others kept in the index of the tile") {
  const Grid grid({5, 40, 33, 60}, {});
  CHECK(grid.tiled() == std::array<int, 3>{1, 2, 3});
  CHECK(grid.kept() == std::vector<int>{0});
  CHECK(grid.tile_index().bits() == 2 + 2 + 2 + 3);
  const Grid chosen({5, 40, 33, 60}, {.tiled = {0, 1, 3}});
  CHECK(chosen.kept() == std::vector<int>{2});
}

TEST_CASE("sizes follow equations 11 to 16 on an example by hand") {
  // 6 x 4 x 4 at edge 2: 3 + 2 + 2 bits a nonzero, 2 + 1 + 1 a tile, 8 a bitmap.
  const Grid grid({6, 4, 4}, {.edge_bits = 1});
  const auto bits = storage_bits(grid, ValueType::f16, 10, 4, 2);
  CHECK(bits.sparse_index == 7 * 4);
  CHECK(bits.sparse_values == 16 * 4);
  CHECK(bits.tile_index == 4 * 2);
  CHECK(bits.bitmaps == 8 * 2);
  CHECK(bits.dense_values == 16 * 6);
  CHECK(bits.total() == 7 * 4 + 4 * 2 + 8 * 2 + 16 * 10);
}

TEST_CASE("bytes as stored: words of 32, 64 or 128 bits, 64 of an offset") {
  const auto hls = small_hls();
  const Count dense = hls.dense_tiles, sparse = hls.sparse_nonzeros;
  REQUIRE(dense > 1);
  REQUIRE(sparse > 0);
  CHECK(hls.tile_index.words() == 1);
  CHECK(hls.index_bytes() == dense * (4 + 64 + 8) + 8 + sparse * 4);
  CHECK(hls.bytes() == hls.index_bytes() + 2 * hls.nnz());
  CHECK(PackedIndices(33, 1).words() == 2);
  CHECK(PackedIndices(65, 1).words() == 4);
}

TEST_CASE("packed indices hold the highest bits") {
  PackedIndices keys(128, 2);
  const Uint128 key = (Uint128{0x0123456789abcdef} << 64) | 0xfedcba9876543210;
  keys.set(1, key);
  CHECK((keys.at(1) == key));
  CHECK((keys.at(0) == 0));
}

TEST_CASE("tile sizes add up to the nonzeros and do not depend on the input's order") {
  auto tensor = clustered({40, 33, 50}, 600, 5);
  const Grid grid(tensor.dims, {});
  const auto sizes = tile_sizes(tensor, grid);
  CHECK(std::accumulate(sizes.begin(), sizes.end(), Count{0}) == tensor.nnz());
  for (auto& index : tensor.indices) std::ranges::reverse(index);
  CHECK(tile_sizes(tensor, grid) == sizes);
}

TEST_CASE("what the format cannot hold is refused") {
  CHECK_THROWS_AS(to_hls(Coo({5, 6}, DType::f32), {}), InputError);
  CHECK_THROWS_AS(to_hls(Coo({2, 2, 2, 2, 2, 2}, DType::f32), {}), InputError);
  CHECK_THROWS_AS(to_hls(Coo({5, 6, 7}, DType::f64), {}), InputError);
  CHECK_THROWS_AS(Grid({5, 6, 7}, {.edge_bits = 6}), InputError);
  CHECK_THROWS_AS(Grid({5, 6, 7}, {.tiled = {0, 2, 1}}), InputError);
  CHECK_THROWS_AS(Grid({5, 6, 7}, {.tiled = {0, 1, 3}}), InputError);
}

TEST_CASE("values of one coordinate are added up") {
  const auto twice = numbered({4, 4, 4}, {{1, 2, 3}, {0, 0, 0}, {1, 2, 3}});
  for (const Count threshold : {Count{1}, kNoTileIsDense}) {
    const auto hls = to_hls(twice, {.threshold = threshold});
    hls.check();
    CHECK(entries_of(hls.to_coo(), ValueType::f32) ==
          Entries{{{0, 0, 0}, 2.0f}, {{1, 2, 3}, 4.0f}});
  }
}

TEST_CASE("the threshold counts a coordinate that stands twice once") {
  const auto twice = numbered({4, 4, 4}, {{1, 2, 3}, {0, 0, 0}, {1, 2, 3}});
  CHECK(to_hls(twice, {.threshold = 2}).dense_tiles == 1);
  CHECK(to_hls(twice, {.threshold = 3}).dense_tiles == 0);
}

TEST_CASE("check() finds tiles that disagree with their bitmaps, the threshold or the counts") {
  const auto refuse = damage_to(small_hls);
  refuse("tile 0 has", [](Hls& h) { h.bitmap[0] ^= 1; });
  refuse("index of tile 1 is not above", [](Hls& h) { h.tile_index.set(1, h.tile_index.at(0)); });
  refuse("sparse nonzero 1 stands twice",
         [](Hls& h) { h.nonzero_index.set(1, h.nonzero_index.at(0)); });
  refuse("a dense one has at least", [](Hls& h) { h.options.threshold = h.value_start[1] + 1; });
  refuse("tiles reach the threshold", [](Hls& h) { h.options.threshold = 1; });
  refuse("are counted", [](Hls& h) { ++h.tiles; });
  refuse("arrays of", [](Hls& h) { --h.dense_tiles; });
  refuse("sparse nonzeros", [](Hls& h) { ++h.sparse_nonzeros; });
}
