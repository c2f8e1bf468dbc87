// Draws from the power law P(k) ~ k^-s on 1 .. n without a table, for any n and s >= 0
// (rejection-inversion: Hörmann and Derflinger, ACM TOMACS 6(3), 1996).
#pragma once

#include <cstdint>

#include "common/core/rng.hpp"

namespace retensor {

class Zipf {
 public:
  /// Throws InputError unless n >= 1 and the exponent is finite and >= 0.
  Zipf(std::uint64_t n, double exponent);

  /// A draw that uses random numbers from counter first on, two or fewer on average.
  std::uint64_t draw(const CounterRng& rng, std::uint64_t first) const;

 private:
  double integral(double x) const;  // of t^-s from 1 to x
  double inverse_integral(double u) const;
  double density(double x) const;

  std::uint64_t n_;
  double exponent_;
  double first_area_ = 0, last_area_ = 0, squeeze_ = 0;
};

}  // namespace retensor
