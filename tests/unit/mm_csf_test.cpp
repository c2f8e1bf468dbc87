// MM-CSF: levels of the trees, which tree takes a nonzero, invariants.
#include <doctest/doctest.h>

#include <algorithm>

#include "common/baselines/mm_csf/format.hpp"
#include "common/core/error.hpp"
#include "common/generate/generators.hpp"
#include "tests/support/complaint.hpp"
#include "tests/support/entries.hpp"
#include "tests/support/values.hpp"

using namespace retensor;
using mm_csf::MmCsf;
using mm_csf::to_mm_csf;
using mm_csf::tree_modes;

namespace {

using Coordinate = std::vector<Index>;

// Roots of the cycle 0, 1, 2 have fibers along 2, 0, 1. Three nonzeros along mode 2 in (0,0), three
// along mode 0 in (4,1) of which (0,4,1) is alone elsewhere, two along mode 1, one alone.
Coo mixed() {
  return test::numbered({5, 6, 7}, {{0, 0, 2},
                                    {0, 0, 3},
                                    {0, 0, 5},  // along 2
                                    {0, 4, 1},
                                    {2, 4, 1},
                                    {3, 4, 1},  // along 0
                                    {4, 1, 6},
                                    {4, 3, 6},    // along 1
                                    {1, 2, 0}});  // alone
}

std::vector<Coordinate> nonzeros_of(const Csf& tree) {
  const Coo x = tree.to_coo();
  std::vector<Coordinate> all(x.nnz());
  for (Count p = 0; p < x.nnz(); ++p)
    for (const auto& index : x.indices) all[p].push_back(index[p]);
  std::sort(all.begin(), all.end());
  return all;
}

void check_round_trip(const Coo& x) {
  const MmCsf f = to_mm_csf(x);
  f.check();
  CHECK(test::sorted_entries(f.to_coo()) == test::sorted_entries(x));
}

}  // namespace

TEST_CASE("each mode is the root of one tree and the leaves of another") {
  using Modes = std::vector<std::vector<int>>;
  CHECK(tree_modes({5, 6, 7}) == Modes{{0, 1, 2}, {1, 2, 0}, {2, 0, 1}});
  CHECK(tree_modes({9, 4, 9, 2}) == Modes{{3, 1, 0, 2}, {1, 0, 2, 3}, {0, 2, 3, 1}, {2, 3, 1, 0}});
}

TEST_CASE("a nonzero goes where its fiber is longest, equals to the shortest root") {
  const MmCsf f = to_mm_csf(mixed());
  f.check();
  REQUIRE(f.trees.size() == 3);
  CHECK(nonzeros_of(f.trees[0]) ==
        std::vector<Coordinate>{{0, 0, 2}, {0, 0, 3}, {0, 0, 5}, {1, 2, 0}});
  CHECK(nonzeros_of(f.trees[1]) == std::vector<Coordinate>{{0, 4, 1}, {2, 4, 1}, {3, 4, 1}});
  CHECK(nonzeros_of(f.trees[2]) == std::vector<Coordinate>{{4, 1, 6}, {4, 3, 6}});
  CHECK(f.bytes() == f.trees[0].bytes() + f.trees[1].bytes() + f.trees[2].bytes());
}

TEST_CASE("fibers of equal length leave the nonzero with the shorter root") {
  // (0,0,0) shares a fiber of two along each mode with one of the others.
  const MmCsf f =
      to_mm_csf(test::numbered({7, 6, 5}, {{0, 0, 0}, {0, 0, 1}, {0, 1, 0}, {1, 0, 0}}));
  f.check();
  // The cycle is 2, 1, 0: fibers along 0, 2, 1.
  REQUIRE(f.trees.size() == 3);
  CHECK(nonzeros_of(f.trees[0]) == std::vector<Coordinate>{{0, 0, 0}, {1, 0, 0}});
  CHECK(nonzeros_of(f.trees[1]) == std::vector<Coordinate>{{0, 0, 1}});
  CHECK(nonzeros_of(f.trees[2]) == std::vector<Coordinate>{{0, 1, 0}});
}

TEST_CASE("fibers are counted whole and cut afterwards") {
  std::vector<Coordinate> nonzeros;
  for (Index i = 0; i < 200; ++i) nonzeros.push_back({0, 0, i});
  for (Index i = 1; i < 150; ++i) nonzeros.push_back({i, 0, 0});
  const MmCsf f = to_mm_csf(test::numbered({150, 160, 200}, nonzeros));
  f.check();
  REQUIRE(f.trees.size() == 2);
  CHECK(f.trees[0].start.back() == std::vector<Count>{0, 128, 200});
  CHECK(f.trees[1].start.back() == std::vector<Count>{0, 128, 149});
}

TEST_CASE("keys of more than 64 bits are sorted, of more than 128 refused") {
  const Coo wide = uniform({1U << 30, 1U << 28, 1U << 29}, 300, 1, DType::f32);
  CHECK(mm_csf::key_bits(wide) == 30 + 29 + 9);
  check_round_trip(wide);
  const Dims longest(5, 0xffffffffU);
  Coo beyond(longest, DType::f32, 2);
  for (auto& index : beyond.indices) index = {1, 2};
  CHECK_THROWS_WITH_AS(to_mm_csf(beyond), "MM-CSF: found keys of 129 bits, expected at most 128",
                       InputError);
  check_round_trip(Coo(longest, DType::f32, 1));
}

TEST_CASE("wrong input and broken formats are found") {
  CHECK_THROWS_WITH_AS(to_mm_csf(Coo({5}, DType::f32)), doctest::Contains("found order 1"),
                       InputError);
  const auto refuse = test::damage_to([] { return to_mm_csf(mixed()); });
  refuse("tree 1: CSF: starts of level 0", [](MmCsf& f) { f.trees[1].start[0].front() = 1; });
  refuse("tree 0: mode lengths or type", [](MmCsf& f) { f.dims[0] = 4; });
  refuse("tree 0: mode lengths or type", [](MmCsf& f) { f.dtype = DType::f64; });
  refuse("tree 2: no nonzeros", [](MmCsf& f) {
    f.trees[2] = to_csf(Coo(f.dims, DType::f32), {f.trees[2].modes, 128});
  });
  refuse("tree 1: levels are not", [](MmCsf& f) { f.trees[1] = f.trees[0]; });
  refuse("tree 1: levels are not", [](MmCsf& f) { std::swap(f.trees[0], f.trees[1]); });
  refuse("tree 0: levels are not", [](MmCsf& f) {
    f.trees[0] = to_csf(f.trees[0].to_coo(), {{0, 2, 1}, 128});
  });
  // The lone nonzero's tree with the fibers along mode 1.
  refuse("(2, 3, 1) is in tree 2, its longest fiber in tree 0", [](MmCsf& f) {
    const Coo moved = test::numbered(f.dims, {{4, 1, 6}, {4, 3, 6}, {1, 2, 0}});
    f.trees[0] =
        to_csf(test::numbered(f.dims, {{0, 0, 2}, {0, 0, 3}, {0, 0, 5}}), {{0, 1, 2}, 128});
    f.trees[2] = to_csf(moved, {f.trees[2].modes, 128});
  });
}
