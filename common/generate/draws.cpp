#include "common/generate/draws.hpp"

#include <algorithm>
#include <cmath>

#include "common/core/error.hpp"

namespace retensor {
namespace {

double checked_sum(const std::vector<double>& weights) {
  double sum = 0;
  for (const double w : weights) {
    if (!std::isfinite(w) || w < 0) throw InputError("a weight is negative or not finite");
    sum += w;
  }
  if (!(sum > 0) || !std::isfinite(sum))
    throw InputError("the weights have no positive finite sum");
  return sum;
}

std::uint64_t fixed_point(double share) {
  const double scaled = std::ldexp(share, 64);
  return scaled >= 0x1.0p64 ? ~std::uint64_t{0} : static_cast<std::uint64_t>(scaled);
}

// (e^t - 1) / t and log(1 + t) / t, continued to t = 0, where an exponent of 1 leads.
double expm1_ratio(double t) {
  return t == 0 ? 1 : std::expm1(t) / t;
}
double log1p_ratio(double t) {
  return t == 0 ? 1 : std::log1p(t) / t;
}

}  // namespace

RandomPermutation::RandomPermutation(Uint128 n, std::uint64_t seed, std::uint64_t stream)
    : n_(n),
      rounds_{CounterRng(seed, 4 * stream), CounterRng(seed, 4 * stream + 1),
              CounterRng(seed, 4 * stream + 2), CounterRng(seed, 4 * stream + 3)} {
  if (n == 0 || n > Uint128{1} << 127)
    throw InputError("a random permutation needs between 1 and 2^127 elements");
  int bits = 0;
  for (Uint128 rest = n - 1; rest != 0; rest >>= 1) ++bits;
  half_bits_ = (bits + 1) / 2;
  half_mask_ = static_cast<std::uint64_t>((Uint128{1} << half_bits_) - 1);
}

Uint128 RandomPermutation::operator()(Uint128 i) const {
  Uint128 image = i;
  do {
    auto left = static_cast<std::uint64_t>(image >> half_bits_);
    auto right = static_cast<std::uint64_t>(image) & half_mask_;
    for (const CounterRng& round : rounds_) {
      const std::uint64_t mixed = left ^ (round.bits(right) & half_mask_);
      left = right;
      right = mixed;
    }
    image = static_cast<Uint128>(left) << half_bits_ | right;
  } while (image >= n_);
  return image;
}

// Cells below the mean are topped up from cells above it.
AliasTable::AliasTable(const std::vector<double>& weights) {
  const double mean = checked_sum(weights) / static_cast<double>(weights.size());
  std::vector<double> share(weights.size());
  std::vector<std::uint32_t> small, large;
  for (std::uint32_t c = 0; c < weights.size(); ++c) {
    share[c] = weights[c] / mean;
    (share[c] < 1 ? small : large).push_back(c);
    cells_.push_back({~std::uint64_t{0}, c, c});  // what rounding leaves over keeps itself
  }
  while (!small.empty() && !large.empty()) {
    const std::uint32_t low = small.back(), high = large.back();
    small.pop_back();
    cells_[low] = {fixed_point(share[low]), low, high};
    share[high] -= 1 - share[low];
    if (share[high] < 1) {
      large.pop_back();
      small.push_back(high);
    }
  }
}

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
