// Order statistics and the bootstrap interval of the median (Efron and Tibshirani 1993,
// section 13.3).
#include "common/measure/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
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

std::vector<double> resampled_medians(std::span<const double> samples, std::uint64_t seed) {
  std::vector<double> medians(kResamples), drawn(samples.size());
  for (std::size_t b = 0; b < kResamples; ++b) {
    const CounterRng rng(seed, b);
    for (std::size_t i = 0; i < drawn.size(); ++i) drawn[i] = samples[rng.below(i, samples.size())];
    std::sort(drawn.begin(), drawn.end());
    medians[b] = quantile(drawn, 0.5);
  }
  std::sort(medians.begin(), medians.end());
  return medians;
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
  const auto medians = resampled_medians(sorted, seed);
  s.ci_low = quantile(medians, 0.025);
  s.ci_high = quantile(medians, 0.975);
  return s;
}

}  // namespace retensor
