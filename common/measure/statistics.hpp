// Summary of repeated timings.
#pragma once

#include <cstdint>
#include <span>

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

}  // namespace retensor
