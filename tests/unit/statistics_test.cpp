#include <doctest/doctest.h>

#include <vector>

#include "common/core/error.hpp"
#include "common/core/rng.hpp"
#include "common/measure/statistics.hpp"

using namespace retensor;

TEST_CASE("quartiles of type 7 by hand") {
  const std::vector<double> samples = {4, 1, 3, 2};
  const auto s = summarise(samples);
  CHECK(s.count == 4);
  CHECK(s.median == 2.5);
  CHECK(s.q1 == 1.75);
  CHECK(s.q3 == 3.25);
  CHECK(s.mean == 2.5);
  CHECK(s.min == 1);
  CHECK(s.max == 4);
}

TEST_CASE("one sample is its own summary, none is an error") {
  const std::vector<double> one = {7};
  const auto s = summarise(one);
  CHECK(s.median == 7);
  CHECK(s.q1 == 7);
  CHECK(s.q3 == 7);
  CHECK(s.ci_low == 7);
  CHECK(s.ci_high == 7);
  CHECK_THROWS_AS(summarise({}), LogicError);
}

TEST_CASE("the interval holds the median, does not depend on the order and is reproducible") {
  std::vector<double> samples;
  const CounterRng rng(3);
  for (std::uint64_t i = 0; i < 101; ++i) samples.push_back(10 + rng.normal(i));
  const auto s = summarise(samples);
  CHECK(s.ci_low <= s.median);
  CHECK(s.median <= s.ci_high);
  CHECK(s.ci_low > s.min);
  CHECK(s.ci_high < s.max);
  std::swap(samples.front(), samples.back());
  const auto again = summarise(samples);
  CHECK(again.ci_low == s.ci_low);
  CHECK(again.ci_high == s.ci_high);
}

TEST_CASE("95% intervals cover the true median about 95% of the time") {
  int covered = 0;
  for (std::uint64_t trial = 0; trial < 200; ++trial) {
    const CounterRng rng(trial, 9);
    std::vector<double> samples;
    for (std::uint64_t i = 0; i < 31; ++i) samples.push_back(rng.normal(i));
    const auto s = summarise(samples, trial);
    covered += s.ci_low <= 0 && 0 <= s.ci_high;
  }
  CHECK(covered >= 180);
  CHECK(covered <= 199);
}
