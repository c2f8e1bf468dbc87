#include "common/decompose/finite.hpp"

#include <algorithm>
#include <cmath>

#include "common/core/message.hpp"

namespace retensor::cpd {

void check_norm(const Values& values) {
  constexpr double kLeast = 1e-140, kMost = 1e140;  // 2^32 squares stay within 1e-308 and 1e308
  double largest = 0;
  values.visit([&](const auto& all) {
    for (const auto value : all) {
      if (!std::isfinite(value))
        throw input_error("found the value {}, expected finite numbers", value);
      largest = std::max(largest, std::abs(static_cast<double>(value)));
    }
  });
  if (largest != 0 && (largest < kLeast || largest > kMost))
    throw input_error("found {} as the largest magnitude of a value, expected 0 or {} to {}",
                      largest, kLeast, kMost);
}

bool is_finite(const std::vector<double>& numbers) {
  return std::all_of(numbers.begin(), numbers.end(), [](double x) { return std::isfinite(x); });
}

bool is_finite(const std::vector<Matrix>& factors) {
  return std::all_of(factors.begin(), factors.end(), [](const Matrix& factor) {
    return factor.values().visit([](const auto& all) {
      return std::all_of(all.begin(), all.end(), [](auto x) { return std::isfinite(x); });
    });
  });
}

bool is_finite(const KruskalModel& model) {
  return is_finite(model.weights) && is_finite(model.factors);
}

}  // namespace retensor::cpd
