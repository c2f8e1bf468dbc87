// Summary of repeated timings, and the ratio of two of them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace retensor {

/// Median with quartiles (linear interpolation, Hyndman and Fan type 7) and the 95% percentile
/// bootstrap interval of the median (2000 resamples, fixed seed).
struct Summary {
  double median = 0, q1 = 0, q3 = 0, mean = 0, min = 0, max = 0;
  double ci_low = 0, ci_high = 0;
  std::size_t count = 0;
};

/// Throws LogicError for an empty sample.
Summary summarise(std::span<const double> samples, std::uint64_t seed = 1);

/// Ratio of two medians with its 95% percentile bootstrap interval (2000 resamples, fixed seed).
struct Ratio {
  double value = 0, ci_low = 0, ci_high = 0;
};

/// Samples of one case, one list per process launch.
using Launches = std::span<const std::vector<double>>;

/// Median of the samples of all launches; throws LogicError as ratio_of_medians does.
double median(Launches launches);

/// Median of all `above` over median of all `below`. Both sides are resampled, launches first and
/// samples within them, so that what differs from launch to launch widens the interval. Throws
/// LogicError when a launch has no sample, a side no launch, or a sample is not positive.
Ratio ratio_of_medians(Launches above, Launches below, std::uint64_t seed = 1);

}  // namespace retensor
