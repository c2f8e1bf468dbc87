// The law's histogram lies under the density x^-s taken between half-integers; a draw inverts the
// integral of the density, rounds, and is rejected where the histogram is lower.
#include "common/generate/zipf.hpp"

#include <algorithm>
#include <cmath>

#include "common/core/error.hpp"

namespace retensor {

namespace {

// (e^t - 1) / t and log(1 + t) / t, continued to t = 0, where an exponent of 1 leads.
double expm1_ratio(double t) {
  return t == 0 ? 1 : std::expm1(t) / t;
}
double log1p_ratio(double t) {
  return t == 0 ? 1 : std::log1p(t) / t;
}

}  // namespace

Zipf::Zipf(std::uint64_t n, double exponent) : n_(n), exponent_(exponent) {
  if (n == 0) throw InputError("a power law needs at least one element");
  if (!std::isfinite(exponent) || exponent < 0)
    throw InputError("the exponent of a power law is negative or not finite");
  first_area_ = integral(1.5) - 1;
  last_area_ = integral(static_cast<double>(n) + 0.5);
  squeeze_ = 2 - inverse_integral(integral(2.5) - density(2));
}

double Zipf::integral(double x) const {
  const double log_x = std::log(x);
  return log_x * expm1_ratio((1 - exponent_) * log_x);
}

double Zipf::inverse_integral(double u) const {
  return std::exp(u * log1p_ratio(std::max(-1.0, (1 - exponent_) * u)));
}

double Zipf::density(double x) const {
  return std::exp(-exponent_ * std::log(x));
}

std::uint64_t Zipf::draw(const CounterRng& rng, std::uint64_t first) const {
  const auto largest = static_cast<double>(n_);
  for (std::uint64_t at = first;; ++at) {
    const double u = last_area_ + rng.uniform(at) * (first_area_ - last_area_);
    const double x = inverse_integral(u);
    const double k = std::clamp(std::floor(x + 0.5), 1.0, largest);
    if (k - x <= squeeze_ || u >= integral(k + 0.5) - density(k))
      return static_cast<std::uint64_t>(k);
  }
}

}  // namespace retensor
