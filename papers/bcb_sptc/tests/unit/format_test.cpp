// BCB: the example of Fig. 2, every option, equations 3 to 9, and what check() must refuse.
#include <doctest/doctest.h>

#include <algorithm>

#include "common/core/error.hpp"
#include "common/tensor/operations.hpp"
#include "papers/bcb_sptc/format/bcb.hpp"
#include "tests/support/complaint.hpp"
#include "tests/support/entries.hpp"

using namespace retensor;
using namespace retensor::bcb_sptc;
using namespace retensor::test;

namespace {

/// The last cell is taken too.
Coo clustered(const Dims& dims, Count nnz, std::uint64_t seed) {
  Entries entries = clustered_entries(dims, nnz, seed);
  std::vector<Index> last;
  for (const auto length : dims) last.push_back(static_cast<Index>(length - 1));
  entries[last] = 3;
  return tensor_of(dims, entries);
}

/// The last of the modes first, so that fields and modes differ.
std::vector<int> turned(int order) {
  auto modes = natural_order(order);
  std::rotate(modes.begin(), modes.end() - 1, modes.end());
  return modes;
}

Bcb small() {
  return to_bcb(clustered({40, 33, 50}, 600, 3), {.edge_bits = {2, 1, 2}});
}

}  // namespace

TEST_CASE("Fig. 2: blocks of 2 x 2 x 2 in 8 x 8 x 8 have 8-bit bitmaps and 6-bit indices") {
  const auto bcb =
      to_bcb(tensor_of({8, 8, 8},
                       {{{0, 0, 0}, 1.f}, {{1, 0, 1}, 2.f}, {{2, 7, 5}, 3.f}, {{3, 6, 4}, 4.f}}),
             {.edge_bits = {1, 1, 1}});
  CHECK(bcb.grid.block_index().bits() == 6);
  CHECK(bcb.grid.cells() == 8);
  CHECK(layout_text(bcb) == "00 00 00 10000100 1 2; 01 11 10 00011000 3 4");
  CHECK(layout_text(to_bcb(Coo({8, 8, 8}, DType::f32), {})).empty());
}

TEST_CASE("every nonzero comes back, for orders 1 to 8, edges, parts and value types") {
  const std::vector<Dims> shapes = {{300},
                                    {70, 37},
                                    {40, 33, 50},
                                    {1, 1, 1},
                                    {3, 200, 17},
                                    {5, 40, 33, 60},
                                    {20, 3, 30, 2, 25},
                                    {9, 8, 7, 6, 5, 10},
                                    {4, 5, 6, 7, 3, 2, 9},
                                    {4, 5, 6, 7, 3, 2, 9, 11},
                                    {5'000'000, 9'000'000, 4'000'000}};  // keys of 69 bits
  std::uint64_t seed = 1;
  for (const auto& dims : shapes)
    for (const int edge : {-1, 0, 1, 2, 3}) {
      const int order = static_cast<int>(dims.size());
      for (int leading = 0; leading <= order; leading += 1 + order / 3) {
        Options options{
            .modes = turned(order), .leading = leading, .values = static_cast<ValueType>(seed % 3)};
        if (edge >= 0) options.edge_bits.assign(dims.size(), edge);
        const auto tensor = clustered(dims, 400, seed++);
        const auto bcb = to_bcb(tensor, options);
        CAPTURE(order);
        CAPTURE(edge);
        bcb.check();
        CHECK(bcb.nnz() == tensor.nnz());
        CHECK(entries_of(bcb.to_coo(), ValueType::f32) == entries_of(tensor, options.values));
      }
    }
}

TEST_CASE("block edges by order: 8 up to order 4, 4096 cells beyond") {
  CHECK(default_edge_bits(1) == std::vector<int>{3});
  CHECK(default_edge_bits(3) == std::vector<int>{3, 3, 3});
  CHECK(default_edge_bits(4) == std::vector<int>{3, 3, 3, 3});
  CHECK(default_edge_bits(5) == std::vector<int>{3, 3, 2, 2, 2});
  CHECK(default_edge_bits(8) == std::vector<int>{2, 2, 2, 2, 1, 1, 1, 1});
}

TEST_CASE("the leading modes are the high bits of index and cell") {
  // Mode 1 leads: 5 blocks (3 bits), modes 2 and 0 trail with 7 (3) and 10 (4).
  const Grid grid({40, 33, 50}, {.edge_bits = {2, 3, 3}, .modes = {1, 2, 0}, .leading = 1});
  CHECK(grid.block_index().bits() == 10);
  CHECK(grid.leading_bits() == 3);
  CHECK(grid.trailing_bits() == 5);
  const std::vector<Index> at = {39, 32, 49};  // blocks 9, 4, 6, inside 3, 0, 1
  const auto key = grid.key<std::uint64_t>(at);
  const std::uint64_t block = 0b100'110'1001, cell = 0b000'001'11;
  CHECK(key == (block << 8 | cell));
  CHECK(grid.leading_part(block) == 0b100);
  CHECK(grid.trailing_part(block) == 0b1101001);
  for (int k = 0; k < 3; ++k)
    CHECK((grid.origin(block, k) | grid.within(static_cast<Index>(cell), k)) ==
          at[static_cast<std::size_t>(grid.modes()[static_cast<std::size_t>(k)])]);
}

TEST_CASE("parts of an index of 128 bits, all leading or all trailing") {
  const Dims dims(4, std::uint64_t{1} << 32);
  const auto block = ~Uint128{0};
  const Grid leading(dims, {.edge_bits = {0, 0, 0, 0}, .leading = 4});
  CHECK((leading.leading_part(block) == block && leading.trailing_part(block) == 0));
  const Grid trailing(dims, {.edge_bits = {0, 0, 0, 0}, .leading = 0});
  CHECK((trailing.leading_part(block) == 0 && trailing.trailing_part(block) == block));
}

TEST_CASE("sizes follow equations 3 to 9 on examples by hand") {
  // Ratings: 755 x 494 x 1 blocks, 10 + 9 + 0 bits; the third logarithm is negative.
  const Grid ratings({6040, 3952, 3}, {});
  const auto bits = storage_bits(ratings, ValueType::f32, 10, 100);
  CHECK(bits.block_index == 10 + 9 + 0);
  CHECK(bits.bitmap == 512);
  CHECK(bits.indices == 190);
  CHECK(bits.bitmaps == 5120);
  CHECK(bits.values == 3200);
  CHECK(bits.total() == 190 + 5120 + 3200);
  CHECK(bits.coo == 32 * 3 * 100 + 32 * 100);
  CHECK(storage_bits(ratings, ValueType::f16, 10, 100).values == 1600);
  CHECK(storage_bits(Grid({90, 90, 174, 174}, {}), ValueType::f32, 1, 1).bitmap == 4096);
}

TEST_CASE("bytes as stored: words of 32, 64 or 128 bits, 64 of a bitmap word and of an offset") {
  const auto bcb = small();
  REQUIRE(bcb.blocks() > 1);
  CHECK(bcb.block_index.words() == 1);
  CHECK(bcb.grid.bitmap_words() == 1);
  CHECK(bcb.bytes() == bcb.blocks() * (4 + 8 + 8) + 8 + 4 * bcb.nnz());
}

TEST_CASE("values of one coordinate are added up; an explicit zero keeps its bit") {
  Coo twice({4, 4}, DType::f32, 4);
  twice.indices = {{1, 0, 1, 3}, {2, 0, 2, 3}};
  for (Count x = 0; x < 3; ++x) twice.values.set(x, static_cast<double>(x) + 1);
  const auto bcb = to_bcb(twice, {});
  bcb.check();
  CHECK(entries_of(bcb.to_coo(), ValueType::f32) ==
        Entries{{{0, 0}, 2.f}, {{1, 2}, 4.f}, {{3, 3}, 0.f}});
}

TEST_CASE("what the format cannot hold is refused") {
  CHECK_THROWS_AS(to_bcb(Coo({5, 6, 7}, DType::f64), {}), InputError);
  CHECK_THROWS_AS(Grid(Dims{}, {}), InputError);
  CHECK_THROWS_AS(Grid(Dims(9, 2), {}), InputError);
  CHECK_THROWS_AS(Grid({5, 6}, {.edge_bits = {3}}), InputError);
  CHECK_THROWS_AS(Grid({5, 6}, {.edge_bits = {3, -1}}), InputError);
  CHECK_THROWS_AS(Grid({5, 6}, {.edge_bits = {13, 12}}), InputError);
  CHECK_THROWS_AS(Grid({5, 6}, {.modes = {0, 0}}), InputError);
  CHECK_THROWS_AS(Grid({5, 6}, {.modes = {0}}), InputError);
  CHECK_THROWS_AS(Grid({5, 6}, {.leading = 3}), InputError);
  CHECK_THROWS_AS(Grid(Dims(5, std::uint64_t{1} << 32), {.edge_bits = {0, 0, 0, 0, 0}}),
                  InputError);
}

TEST_CASE("check() finds blocks that disagree with their bitmaps or each other") {
  const auto refuse = damage_to(small);
  refuse("its values go from", [](Bcb& b) { b.value_start[1] = b.value_start[2]; });
  refuse("block 0 has no bit", [](Bcb& b) { b.bitmap[0] = 0; });
  refuse("block 1 has", [](Bcb& b) { b.bitmap[1] ^= 1; });
  refuse("beyond its 32 cells",
         [](Bcb& b) { b.bitmap[1] = b.bitmap[1] << 32 | std::uint64_t{1} << 63; });
  refuse("index of block 1 is not above",
         [](Bcb& b) { b.block_index.set(1, b.block_index.at(0)); });
  refuse("beyond its length", [](Bcb& b) { b.block_index.set(b.blocks() - 1, 0x3fff); });
}
