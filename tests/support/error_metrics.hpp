// The error metrics of two lists of values.
#pragma once

#include <vector>

#include "common/numeric/error_metrics.hpp"

namespace retensor::test {

/// Of as many measured values as expected ones.
inline ErrorMetrics error_metrics(const std::vector<double>& expected,
                                  const std::vector<double>& measured, double index_space) {
  ErrorAccumulator sums;
  for (std::size_t i = 0; i < expected.size(); ++i) sums.add(expected[i], measured.at(i));
  return sums.metrics(index_space);
}

}  // namespace retensor::test
