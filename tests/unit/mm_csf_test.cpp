// MM-CSF: levels of the trees, which tree takes a nonzero, round trips, invariants.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>

#include "common/baselines/mm_csf/format.hpp"
#include "common/core/error.hpp"
#include "common/generate/generators.hpp"
#include "common/tensor/operations.hpp"

using namespace retensor;
using mm_csf::MmCsf;
using mm_csf::to_mm_csf;
using mm_csf::tree_modes;

namespace {

using Coordinate = std::vector<Index>;

Coo tensor(Dims dims, const std::vector<Coordinate>& nonzeros) {
  Coo x(std::move(dims), DType::f32, nonzeros.size());
  for (Count p = 0; p < x.nnz(); ++p) {
    for (std::size_t m = 0; m < x.dims.size(); ++m) x.indices[m][p] = nonzeros[p][m];
    x.values.set(p, static_cast<double>(p + 1));
  }
  return x;
}

// Roots of the cycle 0, 1, 2 have fibers along 2, 0, 1. Three nonzeros along mode 2 in (0,0), three
// along mode 0 in (4,1) of which (0,4,1) is alone elsewhere, two along mode 1, one alone.
Coo mixed() {
  return tensor({5, 6, 7}, {{0, 0, 2},
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

// How often each coordinate with its value occurs.
std::map<std::pair<Coordinate, double>, int> counted(const Coo& x) {
  std::map<std::pair<Coordinate, double>, int> count;
  for (Count p = 0; p < x.nnz(); ++p) {
    Coordinate at;
    for (const auto& index : x.indices) at.push_back(index[p]);
    ++count[{at, x.values.at(p)}];
  }
  return count;
}

void check_round_trip(const Coo& x, Count fiber_limit) {
  const MmCsf f = to_mm_csf(x, fiber_limit);
  f.check();
  CHECK(f.nnz() == x.nnz());
  CHECK(f.to_coo().dims == x.dims);
  CHECK(f.to_coo().dtype() == x.dtype());
  CHECK(counted(f.to_coo()) == counted(x));
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
  const MmCsf f = to_mm_csf(tensor({7, 6, 5}, {{0, 0, 0}, {0, 0, 1}, {0, 1, 0}, {1, 0, 0}}));
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
  const MmCsf f = to_mm_csf(tensor({150, 160, 200}, nonzeros));
  f.check();
  REQUIRE(f.trees.size() == 2);
  CHECK(f.trees[0].start.back() == std::vector<Count>{0, 128, 200});
  CHECK(f.trees[1].start.back() == std::vector<Count>{0, 128, 149});
}

TEST_CASE("round trips of orders 2 to 5, with duplicates, and of an empty tensor") {
  for (const Dims& dims : {Dims{70, 37}, Dims{37, 20, 33}, Dims{9, 8, 7, 6}, Dims{5, 4, 3, 6, 2}}) {
    Coo x = uniform(dims, 120, 1, DType::f64);
    check_round_trip(x, 128);
    check_round_trip(x, 1);
    for (auto& index : x.indices) index.insert(index.end(), index.begin(), index.end());
    std::vector<double> values(2 * x.nnz());
    for (std::size_t p = 0; p < values.size(); ++p) values[p] = static_cast<double>(p);
    x.values = values;
    check_round_trip(x, 2);
    check_round_trip(Coo(dims, DType::f64), 2);
  }
}

TEST_CASE("keys of more than 64 bits are sorted, of more than 128 refused") {
  const Coo wide = uniform({1U << 30, 1U << 28, 1U << 29}, 300, 1, DType::f32);
  CHECK(mm_csf::key_bits(wide) == 30 + 29 + 9);
  check_round_trip(wide, 128);
  const Dims longest(5, 0xffffffffU);
  Coo beyond(longest, DType::f32, 2);
  for (auto& index : beyond.indices) index = {1, 2};
  CHECK_THROWS_WITH_AS(to_mm_csf(beyond), "MM-CSF: found keys of 129 bits, expected at most 128",
                       InputError);
  check_round_trip(Coo(longest, DType::f32, 1), 128);
}

TEST_CASE("wrong input and broken formats are found") {
  CHECK_THROWS_WITH_AS(to_mm_csf(Coo({5}, DType::f32)), doctest::Contains("found order 1"),
                       InputError);
  const auto refuse = [](const char* what, auto&& spoil) {
    MmCsf f = to_mm_csf(mixed());
    f.check();
    spoil(f);
    CHECK_THROWS_WITH_AS(f.check(), doctest::Contains(what), InputError);
  };
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
    const Coo moved = tensor(f.dims, {{4, 1, 6}, {4, 3, 6}, {1, 2, 0}});
    f.trees[0] = to_csf(tensor(f.dims, {{0, 0, 2}, {0, 0, 3}, {0, 0, 5}}), {{0, 1, 2}, 128});
    f.trees[2] = to_csf(moved, {f.trees[2].modes, 128});
  });
}
