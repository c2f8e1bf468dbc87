// The tiled layout: a tensor by hand, tile sizes, and planted errors that check() finds.
#include <doctest/doctest.h>

#include <vector>

#include "common/core/error.hpp"
#include "common/core/rng.hpp"
#include "papers/flycoo/format/tiles.hpp"
#include "tests/support/complaint.hpp"

using namespace retensor;
using namespace retensor::flycoo;
using test::complaint;
using test::expect_complaint;

namespace {

/// Random nonzeros, repeats included, half of them in one row of every mode.
Coo skewed(const Dims& dims, Count nnz) {
  Coo x(dims, DType::f32, nnz);
  const CounterRng rng(7);
  for (Count p = 0; p < nnz; ++p) {
    for (std::size_t m = 0; m < dims.size(); ++m) {
      const bool hot = rng.bits(2 * (p * dims.size() + m)) % 2 == 0;
      x.indices[m][p] = hot ? static_cast<Index>(dims[m] / 2)
                            : static_cast<Index>(rng.below(2 * (p * dims.size() + m) + 1, dims[m]));
    }
    x.values.set(p, static_cast<double>(p) + 0.5);
  }
  return x;
}

}  // namespace

TEST_CASE("a small tensor by hand: rows ascend, runs leave for the next mode's tiles") {
  Coo x({2, 2}, DType::f32, 4);
  x.indices = {{1, 0, 0, 1}, {0, 1, 0, 1}};
  x.values = std::vector<float>{1, 2, 3, 4};
  const Tiled f = to_tiled(x, {.tile = 2});
  CHECK(f.tiles() == 2);
  CHECK(f.layout.words == 2);
  // Mode 0's tiles: {3, 2} and {1, 4} by value; mode 1's: {3, 1} and {2, 4}. Storage of mode 0 is
  // filled as mode 1 walks: 3, 2 | 1, 4.
  CHECK(f.to_coo().values.at(0) == 3);
  CHECK(f.to_coo().values.at(1) == 2);
  CHECK(f.to_coo().values.at(2) == 1);
  CHECK(f.to_coo().values.at(3) == 4);
  CHECK(f.modes[0].target == Array<std::uint32_t>{0, 2, 1, 3});
  CHECK(f.modes[0].joined == std::vector<std::uint8_t>{0, 0, 0});
  f.check();
}

TEST_CASE("every processor has equally many tiles of at most the size asked for") {
  CHECK(tile_size(1000, {.tile = 100, .processors = 3}) == 84);  // 12 tiles, 4 a processor
  CHECK(tile_size(1000, {.tile = 65536, .processors = 8}) == 125);
  CHECK(tile_size(0, {.tile = 16, .processors = 8}) == 1);
  CHECK(tile_size(20'000'000, {.tile = 16384, .processors = 132}) == 15152);
  CHECK(tile_size(10, {.tile = 16384, .unit = 4, .processors = 132}) == 4);
  CHECK(tile_size(1000, {.tile = 100, .unit = 4, .processors = 7}) == 72);
}

TEST_CASE("rows that tiles share are listed once") {
  Coo x({3, 10}, DType::f32, 10);
  for (Count p = 0; p < 10; ++p) {
    x.indices[0][p] = p < 2 ? 0 : p < 9 ? 1 : 2;
    x.indices[1][p] = static_cast<Index>(p);
    x.values.set(p, static_cast<double>(p));
  }
  const Tiled f = to_tiled(x, {.tile = 3});
  REQUIRE(f.modes[0].cut.size() == 1);
  CHECK(f.modes[0].cut[0].row == 1);
  CHECK(f.modes[0].cut[0].first == 0);
  CHECK(f.modes[0].cut[0].last == 2);
  CHECK(f.modes[0].joined == std::vector<std::uint8_t>{0, 1, 1, 0, 0});
}

TEST_CASE("fibers of a mode are counted along its walk") {
  // A full 3 x 4 x 5 tensor without its last nonzero.
  Coo x({3, 4, 5}, DType::f32, 59);
  for (Count p = 0; p < 59; ++p) {
    x.indices[0][p] = static_cast<Index>(p / 20);
    x.indices[1][p] = static_cast<Index>(p / 5 % 4);
    x.indices[2][p] = static_cast<Index>(p % 5);
    x.values.set(p, 1.0);
  }
  const Tiled f = to_tiled(x, {.tile = 16});
  CHECK(f.modes[0].fibers == 3 * 5);  // along mode 1
  CHECK(f.modes[1].fibers == 3 * 4);
  CHECK(f.modes[2].fibers == 4 * 5);
}

TEST_CASE("bytes: packed records, 2 + 2 + 4 bytes of streams a nonzero and mode") {
  const Coo x = skewed({100, 100, 100}, 300);  // 21 index bits
  const Tiled f = to_tiled(x, {.tile = 100});
  Count small = 0;
  for (const auto& m : f.modes) small += m.joined.size() + m.cut.size() * sizeof(CutRow);
  CHECK(f.bytes() == 300 * 8 + 3 * 300 * 8 + small);
}

TEST_CASE("planted errors are named") {
  const Coo x = skewed({6, 30, 9}, 200);
  const Tiled good = to_tiled(x, {.tile = 32});
  Tiled f = good;
  std::swap(f.modes[1].walk[0], f.modes[1].walk[31]);
  expect_complaint(f, "mode 1, position");
  f = good;
  f.modes[0].walk[3] = f.modes[0].walk[4];
  expect_complaint(f, "walk slot");
  f = good;
  f.modes[2].leave[3] = 40;
  expect_complaint(f, "leave slot 40");
  f = good;
  f.modes[2].target[3] = 200;
  expect_complaint(f, "target 200");
  f = good;
  std::swap(f.modes[0].target[0], f.modes[0].target[1]);
  expect_complaint(f, "follows");
  f = good;
  std::swap(f.modes[0].leave[0], f.modes[0].leave[5]);
  CHECK(complaint(f) != "accepted");
  f = good;
  f.modes[0].joined[1] ^= 1;
  expect_complaint(f, "mark of a joined row");
  f = good;
  f.modes[0].cut.pop_back();
  expect_complaint(f, "rows that tiles share");
  f = good;
  ++f.modes[0].fibers;
  expect_complaint(f, "fibers are stated");
  f = good;
  f.modes.pop_back();
  expect_complaint(f, "2 modes");
}

TEST_CASE("options out of range are refused") {
  const Coo x = skewed({6, 30, 9}, 20);
  CHECK_THROWS_AS(to_tiled(x, {.tile = 65537}), InputError);
  CHECK_THROWS_AS(to_tiled(x, {.tile = 0}), InputError);
  CHECK_THROWS_AS(to_tiled(x, {.tile = 6, .unit = 4}), InputError);
  CHECK_THROWS_AS(to_tiled(skewed({6}, 4), {}), InputError);
}
