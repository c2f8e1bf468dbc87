// Sums behind the error metrics; formulas in the header.
#include "common/numeric/error_metrics.hpp"

#include <cmath>
#include <limits>

#include "common/core/message.hpp"

namespace retensor {
namespace {

// The larger of two values; NaN wins, so that it reaches the report.
double larger_or_nan(double a, double b) {
  return std::isnan(a) || a >= b ? a : b;
}

}  // namespace

void ErrorAccumulator::add(double expected, double measured) {
  // Equal infinities are no error, although their difference is NaN.
  const double error = expected == measured ? 0.0 : std::abs(expected - measured);
  ++pairs_;
  square_error_ += error * error;
  square_expected_ += expected * expected;
  max_ = larger_or_nan(max_, error);
  if (error != 0) smape_ += error / (std::abs(expected) + std::abs(measured));
}

void ErrorAccumulator::merge(const ErrorAccumulator& other) {
  pairs_ += other.pairs_;
  square_error_ += other.square_error_;
  square_expected_ += other.square_expected_;
  smape_ += other.smape_;
  max_ = larger_or_nan(max_, other.max_);
}

ErrorMetrics ErrorAccumulator::metrics(double index_space) const {
  const auto pairs = static_cast<double>(pairs_);
  if (index_space < pairs)
    throw logic_error("{} pairs in an index space of {}", pairs_, index_space);
  const auto mean = [](double sum, double n) { return n > 0 ? sum / n : 0.0; };
  ErrorMetrics m;
  m.rmse_full = std::sqrt(mean(square_error_, index_space));
  m.rmse_nonzero = std::sqrt(mean(square_error_, pairs));
  m.smape_full = 100 * mean(smape_, index_space);
  m.smape_nonzero = 100 * mean(smape_, pairs);
  m.max_absolute = max_;
  if (square_error_ != 0)
    m.relative_frobenius = square_expected_ == 0 ? std::numeric_limits<double>::infinity()
                                                 : std::sqrt(square_error_ / square_expected_);
  return m;
}

}  // namespace retensor
