// Parts of equal work that respect segments.
#include <doctest/doctest.h>

#include <algorithm>

#include "common/core/rng.hpp"
#include "papers/pasta/format/segments.hpp"

using namespace retensor;
using namespace retensor::pasta;

namespace {

// Every nonzero in one part, `first` the segment of a part's first nonzero, `cut` exactly the
// segments that lie in several parts.
void check_parts(const std::vector<Count>& start, Count target) {
  const SegmentParts parts = cut_segments(start, target);
  REQUIRE(parts.bound.size() == parts.first.size() + 1);
  REQUIRE(parts.bound.front() == 0);
  REQUIRE(parts.bound.back() == start.back());
  const auto segment_of = [&](Count p) {
    return static_cast<Count>(std::upper_bound(start.begin(), start.end(), p) - start.begin()) - 1;
  };
  std::vector<Count> cut;
  for (Count c = 0; c < parts.parts(); ++c) {
    const Count begin = parts.bound[c], end = parts.bound[c + 1];
    REQUIRE(begin < end);
    CHECK(end - begin <= target + target / 4);
    CHECK(parts.first[c] == segment_of(begin));
    if (start[parts.first[c]] != begin && (cut.empty() || cut.back() != parts.first[c]))
      cut.push_back(parts.first[c]);
  }
  CHECK(parts.cut == cut);
}

}  // namespace

TEST_CASE("parts end with segments where these are short") {
  const SegmentParts parts = cut_segments(std::vector<Count>{0, 3, 5, 6, 10}, 4);
  CHECK(parts.bound == std::vector<Count>{0, 5, 10});
  CHECK(parts.first == std::vector<Count>{0, 2});
  CHECK(parts.cut.empty());
}

TEST_CASE("a long segment is cut, and the short ones around it are not") {
  const SegmentParts parts = cut_segments(std::vector<Count>{0, 1, 21, 22}, 4);
  CHECK(parts.cut == std::vector<Count>{1});
  check_parts({0, 1, 21, 22}, 4);
}

TEST_CASE("no nonzeros, no parts") {
  CHECK(cut_segments(std::vector<Count>{0}, 4).parts() == 0);
}

TEST_CASE("random segments with rare long ones") {
  const CounterRng random(1);
  Count drawn = 0;
  const auto below = [&](Count n) { return random.below(drawn++, n); };
  for (int round = 0; round < 50; ++round) {
    std::vector<Count> start{0};
    const Count segments = 1 + below(200);
    for (Count s = 0; s < segments; ++s)
      start.push_back(start.back() + 1 + below(below(20) == 0 ? 300 : 6));
    check_parts(start, 1 + below(40));
  }
}

TEST_CASE("runs of equal rows") {
  CHECK(run_starts(std::vector<Index>{4, 4, 7, 9, 9}) == std::vector<Count>{0, 2, 3, 5});
  CHECK(run_starts(std::vector<Index>{}) == std::vector<Count>{0});
}
