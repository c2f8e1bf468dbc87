// F-COO: segments, flags of nonzeros and parts, invariants.
#include <doctest/doctest.h>

#include "common/baselines/f_coo/format.hpp"
#include "common/core/error.hpp"
#include "tests/support/complaint.hpp"

using namespace retensor;
using namespace retensor::f_coo;

namespace {

// Rows 0, 1 and 3 of mode 0 with 1, 5 and 2 nonzeros, stored backwards.
Coo three_rows() {
  Coo x({4, 3, 4}, DType::f32, 8);
  x.indices = {{3, 3, 1, 1, 1, 1, 1, 0}, {2, 1, 2, 1, 1, 0, 0, 2}, {3, 0, 2, 3, 0, 2, 1, 0}};
  for (Count p = 0; p < x.nnz(); ++p) x.values.set(p, static_cast<double>(8 - p));
  return x;
}

std::vector<int> bits(const Flags& flags) {
  std::vector<int> list;
  for (Count i = 0; i < flags.size(); ++i) list.push_back(flags[i] ? 1 : 0);
  return list;
}

}  // namespace

TEST_CASE("nonzeros are sorted by the output mode, each row's first is flagged") {
  const FCoo f = to_f_coo(three_rows(), 0, 3);
  f.check();
  CHECK(f.row == std::vector<Index>{0, 1, 3});
  CHECK(bits(f.start) == std::vector<int>{1, 1, 0, 0, 0, 0, 1, 0});
  CHECK(f.others ==
        std::vector<std::vector<Index>>{{2, 0, 0, 1, 1, 2, 1, 2}, {0, 1, 2, 0, 3, 2, 0, 3}});
  for (Count p = 0; p < f.nnz(); ++p) CHECK(f.values.at(p) == static_cast<double>(p + 1));
  // Two indices and a value each; words of rows, segments of parts, and flags of both.
  CHECK(f.bytes() == 8 * (4 * 2 + 4) + 4 * (3 + 3 + 1 + 1));
}

TEST_CASE("a part knows its first segment and whether it begins there") {
  // Parts of rows 0 1 1 | 1 1 1 | 3 3.
  const FCoo f = to_f_coo(three_rows(), 0, 3);
  CHECK(f.parts() == 3);
  CHECK(bits(f.part_start) == std::vector<int>{1, 0, 1, 1});
  CHECK(f.part_segment == std::vector<Index>{0, 1, 2});
  // 0 1 1 1 | 1 1 3 3: the second part goes on with row 1 and begins row 3 inside.
  const FCoo g = to_f_coo(three_rows(), 0, 4);
  CHECK(bits(g.part_start) == std::vector<int>{1, 0, 1});
  CHECK(g.part_segment == std::vector<Index>{0, 1});
}

TEST_CASE("wrong input and broken formats are found") {
  CHECK_THROWS_WITH_AS(to_f_coo(Coo({5}, DType::f32), 0, 8), doctest::Contains("found order 1"),
                       InputError);
  CHECK_THROWS_WITH_AS(to_f_coo(three_rows(), 3, 8), doctest::Contains("4 is not a mode"),
                       InputError);
  CHECK_THROWS_WITH_AS(to_f_coo(three_rows(), 0, 0), doctest::Contains("found parts of 0"),
                       InputError);
  const auto refuse = test::damage_to([] { return to_f_coo(three_rows(), 0, 3); });
  refuse("product modes disagree", [](FCoo& f) { f.others.pop_back(); });
  refuse("product modes disagree", [](FCoo& f) { f.part_length = 0; });
  refuse("indices and values", [](FCoo& f) { f.others[1].pop_back(); });
  refuse("flags or parts", [](FCoo& f) { f.start = Flags(9); });
  refuse("flags or parts", [](FCoo& f) { f.part_length = 4; });
  refuse("begins no segment", [](FCoo& f) { f.start.reset(0); });
  refuse("flags begin 2", [](FCoo& f) { f.start.reset(6); });
  refuse("row of segment 2", [](FCoo& f) { f.row[2] = 1; });
  refuse("flag of part 1", [](FCoo& f) { f.part_start.set(1); });
  refuse("part 2 begins in segment 2", [](FCoo& f) { f.part_segment[2] = 1; });
  refuse("has no end", [](FCoo& f) { f.part_start.reset(3); });
  refuse("mode 2", [](FCoo& f) { f.others[0][3] = 3; });
}
