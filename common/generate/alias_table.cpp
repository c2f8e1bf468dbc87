// Vose's construction: cells below the mean are topped up from cells above it.
#include "common/generate/alias_table.hpp"

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

}  // namespace

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

}  // namespace retensor
