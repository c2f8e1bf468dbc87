// B-CSF: order of the levels, slices spread over warps, invariants.
#include <doctest/doctest.h>

#include "common/baselines/b_csf/format.hpp"
#include "common/core/error.hpp"
#include "common/generate/generators.hpp"
#include "tests/support/complaint.hpp"

using namespace retensor;
using b_csf::BCsf;
using b_csf::Share;
using b_csf::to_b_csf;

namespace {

// Slices of 1, 7 and 4 nonzeros: rows 0, 1 and 3, in fibers of 1 | 3 2 2 | 4.
Coo three_slices() {
  Coo x({4, 3, 4}, DType::f32, 12);
  x.indices = {{0, 1, 1, 1, 1, 1, 1, 1, 3, 3, 3, 3},
               {2, 0, 0, 0, 1, 1, 2, 2, 1, 1, 1, 1},
               {0, 0, 1, 2, 0, 3, 1, 2, 0, 1, 2, 3}};
  for (Count p = 0; p < x.nnz(); ++p) x.values.set(p, static_cast<double>(p + 1));
  return x;
}

bool same(const Share& a, const Share& b) {
  return a.begin == b.begin && a.end == b.end && a.row == b.row && a.number == b.number &&
         a.warps == b.warps;
}

void check_shares(const BCsf& f, const std::vector<Share>& expected) {
  f.check();
  CHECK(f.bytes() == f.csf.bytes() + 24 * f.shares.size());
  REQUIRE(f.shares.size() == expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) CHECK(same(f.shares[i], expected[i]));
}

}  // namespace

TEST_CASE("the output mode is the root, the other modes follow by length") {
  const Coo x = uniform({9, 17, 5, 17}, 100, 1, DType::f32);
  CHECK(to_b_csf(x, 0).csf.modes == std::vector<int>{0, 2, 1, 3});
  CHECK(to_b_csf(x, 1).csf.modes == std::vector<int>{1, 2, 0, 3});
  CHECK(to_b_csf(x, 2).csf.modes == std::vector<int>{2, 0, 1, 3});
  CHECK(to_b_csf(x, 3).csf.modes == std::vector<int>{3, 2, 0, 1});
}

TEST_CASE("a slice gets a warp for so many nonzeros, a power of two, heavy slices first") {
  check_shares(to_b_csf(three_slices(), 0), {{0, 1, 0, 0, 1}, {1, 4, 1, 0, 1}, {4, 5, 3, 0, 1}});
  // 7 nonzeros want 4 warps, 3 fibers allow 2; the slice of one fiber keeps one.
  check_shares(to_b_csf(three_slices(), 0, {128, 2}),
               {{1, 4, 1, 0, 2}, {1, 4, 1, 1, 2}, {0, 1, 0, 0, 1}, {4, 5, 3, 0, 1}});
  // Cut into pieces of 2 | 2 1 2 2 | 2 2.
  check_shares(to_b_csf(three_slices(), 0, {2, 2}), {{1, 5, 1, 0, 4},
                                                     {1, 5, 1, 1, 4},
                                                     {1, 5, 1, 2, 4},
                                                     {1, 5, 1, 3, 4},
                                                     {5, 7, 3, 0, 2},
                                                     {5, 7, 3, 1, 2},
                                                     {0, 1, 0, 0, 1}});
}

TEST_CASE("a slice has at most 32 thread blocks") {
  Coo x({1, 3000}, DType::f32, 3000);
  for (Index i = 0; i < 3000; ++i) x.indices[1][i] = i;
  const BCsf f = to_b_csf(x, 0, {1, 1});
  f.check();
  CHECK(f.shares.size() == b_csf::kMaxWarps);
}

TEST_CASE("wrong input and broken formats are found") {
  CHECK_THROWS_WITH_AS(to_b_csf(Coo({5}, DType::f32), 0), doctest::Contains("found order 1"),
                       InputError);
  CHECK_THROWS_WITH_AS(to_b_csf(three_slices(), 3), doctest::Contains("root 4"), InputError);
  const auto refuse = test::damage_to([] { return to_b_csf(three_slices(), 0, {128, 2}); });
  refuse("share 1 does", [](BCsf& f) { f.shares[1].number = 0; });
  refuse("share 1 does", [](BCsf& f) { f.shares[1].end = 5; });
  refuse("share 1 does", [](BCsf& f) { f.shares.erase(f.shares.begin() + 1); });
  refuse("share 0 does", [](BCsf& f) { f.shares[0].warps = f.shares[1].warps = 3; });
  refuse("share 2 does", [](BCsf& f) { f.shares[2].end = 0; });
  refuse("share 3 does", [](BCsf& f) { f.shares[3].end = 6; });
  refuse("last slice lacks", [](BCsf& f) { f.shares.resize(1); });
  refuse("fiber 0 of row 0", [](BCsf& f) { f.shares[2].row = 1; });
  refuse("fiber 4 is in 0 slices", [](BCsf& f) { f.shares.pop_back(); });
  refuse("fiber 0 is in 2 slices", [](BCsf& f) { f.shares.push_back(f.shares[2]); });
}
