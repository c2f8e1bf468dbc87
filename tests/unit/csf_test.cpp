// CSF: levels of a small tensor, cut fibers, invariants.
#include <doctest/doctest.h>

#include <limits>
#include <numeric>

#include "common/core/error.hpp"
#include "common/formats/csf.hpp"
#include "common/generate/generators.hpp"
#include "common/tensor/operations.hpp"
#include "tests/support/complaint.hpp"
#include "tests/support/entries.hpp"
#include "tests/support/values.hpp"

using namespace retensor;

namespace {

using Indices = std::vector<std::vector<Index>>;
using Starts = std::vector<std::vector<Count>>;

Coo tensor(Dims dims, Indices indices) {
  Coo x(std::move(dims), DType::f32, indices.front().size());
  x.indices = std::move(indices);
  for (Count p = 0; p < x.nnz(); ++p) x.values.set(p, static_cast<double>(p + 1));
  return x;
}

// (0,0,1) (0,0,3) (0,2,0) (2,1,1) (2,1,1), out of order.
Coo small() {
  return tensor({3, 3, 4}, {{2, 0, 0, 2, 0}, {1, 0, 2, 1, 0}, {1, 3, 0, 1, 1}});
}

// One fiber of n nonzeros along mode 1 and one nonzero in the next row.
Coo fiber_of(Count n) {
  std::vector<Index> row(n, 0), column(n);
  std::iota(column.begin(), column.end(), 0u);
  row.push_back(1), column.push_back(0);
  return tensor({2, 500}, {row, column});
}

}  // namespace

TEST_CASE("levels of a small tensor, equal coordinates as leaves of their own") {
  const Csf f = to_csf(small());
  CHECK(f.modes == std::vector<int>{0, 1, 2});
  CHECK(f.index == Indices{{0, 2}, {0, 2, 1}, {1, 3, 0, 1, 1}});
  CHECK(f.start == Starts{{0, 2, 3}, {0, 2, 3, 5}});
  CHECK(test::doubles(f.values) == std::vector<double>{5, 2, 3, 1, 4});
  CHECK(f.fibers() == 3);
  CHECK(f.bytes() == 10 * 4 + 7 * 8 + 5 * 4);
  CHECK(f.ancestors(0, 1) == std::vector<Index>{0, 0, 2});
  CHECK(f.ancestors(0, 2) == std::vector<Index>{0, 0, 0, 2, 2});
  CHECK(f.ancestors(1, 1) == f.index[1]);
}

TEST_CASE("the order of the levels is the caller's") {
  const Csf f = to_csf(small(), {.modes = {2, 0, 1}});
  CHECK(f.index == Indices{{0, 1, 3}, {0, 0, 2, 0}, {2, 0, 1, 1, 0}});
  CHECK(f.start == Starts{{0, 1, 3, 4}, {0, 1, 2, 4, 5}});
  CHECK(test::doubles(f.values) == std::vector<double>{3, 5, 1, 4, 2});
}

TEST_CASE("fibers are cut where they pass the limit") {
  for (const auto& [n, starts] :
       std::vector<std::pair<Count, std::vector<Count>>>{{127, {0, 127, 128}},
                                                         {128, {0, 128, 129}},
                                                         {129, {0, 128, 129, 130}},
                                                         {300, {0, 128, 256, 300, 301}}}) {
    const Csf f = to_csf(fiber_of(n), {.modes = {}, .fiber_limit = 128});
    f.check();
    CHECK(f.start == Starts{starts});
    std::vector<Index> slices(starts.size() - 2, 0);
    slices.push_back(1);
    CHECK(f.index[0] == slices);
  }
  CHECK(to_csf(fiber_of(300)).fibers() == 2);
}

TEST_CASE("a cut stays inside its slice") {
  // Slices of 5 and 2 nonzeros, in fibers of 3, 2 and 2.
  const Coo x =
      tensor({2, 2, 3}, {{0, 0, 0, 0, 0, 1, 1}, {0, 0, 0, 1, 1, 0, 0}, {0, 1, 2, 0, 1, 0, 2}});
  const Csf f = to_csf(x, {.modes = {}, .fiber_limit = 2});
  CHECK(f.index == Indices{{0, 1}, {0, 0, 1, 0}, {0, 1, 2, 0, 1, 0, 2}});
  CHECK(f.start == Starts{{0, 3, 4}, {0, 2, 3, 5, 7}});
}

TEST_CASE("levels do not depend on the number of nodes per thread") {
  const Coo x = uniform({40, 50, 60}, 5000, 3, DType::f32);
  const Csf f = to_csf(x, {.modes = {1, 2, 0}, .fiber_limit = 2});
  f.check();
  Coo sorted = x;
  sort_nonzeros(sorted, std::vector<int>{1, 2, 0});
  CHECK(f.to_coo().indices == sorted.indices);
}

TEST_CASE("options that fit no tensor are refused") {
  CHECK_THROWS_WITH_AS(to_csf(small(), {.modes = {0, 1}}),
                       doctest::Contains("found 2 modes, expected all 3"), InputError);
  CHECK_THROWS_AS(to_csf(small(), {.modes = {0, 1, 1}}), InputError);
  CHECK_THROWS_AS(to_csf(small(), {.modes = {0, 1, 3}}), InputError);
}

TEST_CASE("broken formats are found") {
  const auto refuse =
      test::damage_to([] { return to_csf(small(), {.modes = {}, .fiber_limit = 2}); });
  refuse("each of the 3 modes once", [](Csf& f) { f.modes = {0, 1, 1}; });
  refuse("levels, leaves and values", [](Csf& f) { f.index[2].pop_back(); });
  refuse("levels, leaves and values", [](Csf& f) { f.start.pop_back(); });
  refuse("starts of level 0", [](Csf& f) { f.start[0].push_back(3); });
  refuse("starts of level 0", [](Csf& f) { f.start[0].front() = 1; });
  refuse("starts of level 1", [](Csf& f) { f.start[1].back() = 4; });
  refuse("node 1 of level 1 has no children", [](Csf& f) { f.start[1][1] = 3; });
  refuse("fiber 0 has 2 nonzeros", [](Csf& f) { f.fiber_limit = 1; });
  refuse("node 1 of level 0", [](Csf& f) { f.index[0] = {2, 2}; });
  refuse("node 1 of level 1", [](Csf& f) { f.fiber_limit = 3, f.index[1] = {2, 2, 1}; });
  refuse("node 1 of level 2", [](Csf& f) { f.index[2][0] = 3, f.index[2][1] = 1; });
  refuse("beyond its length", [](Csf& f) { f.index[0][1] = 3; });
  refuse("not finite", [](Csf& f) { f.values.set(0, std::numeric_limits<double>::infinity()); });
}
