// Order statistics and the bootstrap interval of the median (Efron and Tibshirani 1993,
// section 13.3).
#include "common/measure/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>
#include <utility>
#include <vector>

#include "common/core/error.hpp"
#include "common/core/rng.hpp"

namespace retensor {
namespace {

constexpr std::size_t kResamples = 2000;

/// Quantile of a sorted sample, Hyndman and Fan type 7.
double quantile(std::span<const double> sorted, double p) {
  const double position = p * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const auto above = std::min(below + 1, sorted.size() - 1);
  return std::lerp(sorted[below], sorted[above], position - std::floor(position));
}

double median_of(std::vector<double>& samples) {
  std::sort(samples.begin(), samples.end());
  return quantile(samples, 0.5);
}

/// The median of a resample; `drawn` is working space.
double resampled_median(Launches launches, const CounterRng& rng, std::vector<double>& drawn) {
  drawn.clear();
  std::uint64_t draw = 0;
  for (std::size_t l = 0; l < launches.size(); ++l) {
    const auto& launch = launches[rng.below(draw++, launches.size())];
    for (std::size_t i = 0; i < launch.size(); ++i)
      drawn.push_back(launch[rng.below(draw++, launch.size())]);
  }
  return median_of(drawn);
}

/// The 95% percentile interval of what draw(resample) gives.
template <class Draw>
std::pair<double, double> bootstrap(const Draw& draw) {
  std::vector<double> drawn(kResamples);
  for (std::size_t b = 0; b < kResamples; ++b) drawn[b] = draw(b);
  std::sort(drawn.begin(), drawn.end());
  return {quantile(drawn, 0.025), quantile(drawn, 0.975)};
}

std::vector<double> pooled(Launches launches) {
  std::vector<double> all;
  for (const auto& launch : launches) {
    if (launch.empty()) throw LogicError("a ratio needs at least one sample of every launch");
    all.insert(all.end(), launch.begin(), launch.end());
  }
  if (all.empty() || !(*std::min_element(all.begin(), all.end()) > 0))
    throw LogicError("a ratio needs positive samples on both sides");
  return all;
}

}  // namespace

Summary summarise(std::span<const double> samples, std::uint64_t seed) {
  if (samples.empty()) throw LogicError("a summary needs at least one sample");
  std::vector<double> sorted(samples.begin(), samples.end());
  std::sort(sorted.begin(), sorted.end());
  Summary s;
  s.count = sorted.size();
  s.median = quantile(sorted, 0.5);
  s.q1 = quantile(sorted, 0.25);
  s.q3 = quantile(sorted, 0.75);
  s.mean = std::accumulate(sorted.begin(), sorted.end(), 0.0) / static_cast<double>(s.count);
  s.min = sorted.front();
  s.max = sorted.back();
  const std::vector<double> only[] = {sorted};
  std::vector<double> drawn;
  std::tie(s.ci_low, s.ci_high) =
      bootstrap([&](std::size_t b) { return resampled_median(only, CounterRng(seed, b), drawn); });
  return s;
}

double median(Launches launches) {
  auto all = pooled(launches);
  return median_of(all);
}

Ratio ratio_of_medians(Launches above, Launches below, std::uint64_t seed) {
  Ratio r;
  r.value = median(above) / median(below);
  std::vector<double> drawn;
  std::tie(r.ci_low, r.ci_high) = bootstrap([&](std::size_t b) {
    const auto top = resampled_median(above, CounterRng(seed, 2 * b), drawn);
    return top / resampled_median(below, CounterRng(seed, 2 * b + 1), drawn);
  });
  return r;
}

}  // namespace retensor
