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
  for (const double x : {s.median, s.q1, s.q3, s.ci_low, s.ci_high}) CHECK(x == 7);
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

namespace {

using Samples = std::vector<std::vector<double>>;

std::vector<double> noisy(std::uint64_t stream, std::size_t count, double middle) {
  const CounterRng rng(stream, 4);
  std::vector<double> samples;
  for (std::uint64_t i = 0; i < count; ++i) samples.push_back(middle + 0.1 * rng.normal(i));
  return samples;
}

}  // namespace

TEST_CASE("the ratio of constant samples has an interval of no width") {
  const auto r = ratio_of_medians(Samples{{3, 3, 3}, {3}}, Samples{{2, 2}});
  CHECK(r.value == 1.5);
  CHECK(r.ci_low == 1.5);
  CHECK(r.ci_high == 1.5);
  CHECK(median(Samples{{1, 9}, {2}}) == 2);
}

TEST_CASE("a ratio needs positive samples of every launch") {
  const Samples good = {{1.0}};
  for (const Samples& bad : {Samples{}, Samples{{}}, Samples{{1}, {}}, Samples{{1, 0}},
                             Samples{{-1}}, Samples{{std::nan("")}}}) {
    CHECK_THROWS_AS(ratio_of_medians(bad, good), LogicError);
    CHECK_THROWS_AS(ratio_of_medians(good, bad), LogicError);
  }
}

TEST_CASE("swapped sides have the inverse ratio, a sample beside itself a ratio of 1") {
  const Samples a = {noisy(1, 40, 10)}, b = {noisy(2, 40, 12)};
  const auto up = ratio_of_medians(b, a), down = ratio_of_medians(a, b);
  CHECK(up.value == doctest::Approx(1 / down.value));
  CHECK(up.ci_low > 1);
  CHECK(down.ci_high < 1);
  CHECK(up.ci_low == doctest::Approx(1 / down.ci_high).epsilon(0.01));
  const auto self = ratio_of_medians(a, a);
  CHECK(self.value == 1);
  CHECK(self.ci_low < 1);
  CHECK(self.ci_high > 1);
}

TEST_CASE("95% intervals of a ratio cover the true one about 95% of the time") {
  int covered = 0;
  for (std::uint64_t trial = 0; trial < 200; ++trial) {
    const auto r = ratio_of_medians(Samples{noisy(2 * trial, 31, 11)},
                                    Samples{noisy(2 * trial + 1, 31, 10)}, trial);
    covered += r.ci_low <= 1.1 && 1.1 <= r.ci_high;
  }
  CHECK(covered >= 180);
  CHECK(covered <= 199);
}

TEST_CASE("what differs from launch to launch widens the interval") {
  Samples launches;
  std::vector<double> pooled;
  for (std::uint64_t l = 0; l < 5; ++l) {
    launches.push_back(noisy(l, 20, 10 + static_cast<double>(l)));
    pooled.insert(pooled.end(), launches.back().begin(), launches.back().end());
  }
  const Samples other = {{10, 10}};
  const auto apart = ratio_of_medians(launches, other);
  const auto together = ratio_of_medians(Samples{pooled}, other);
  CHECK(apart.value == together.value);
  CHECK(apart.ci_high - apart.ci_low > 1.5 * (together.ci_high - together.ci_low));
}
