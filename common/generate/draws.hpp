// What the generators draw with: permutations, finite distributions and power laws.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "common/core/rng.hpp"
#include "common/core/types.hpp"

namespace retensor {

/// A keyed pseudo-random permutation of 0 .. n-1 that needs no table: the way to draw without
/// replacement in parallel, since images of distinct arguments are distinct. Four Feistel rounds
/// over the smallest even number of bits that holds n (Luby and Rackoff 1988); an image beyond
/// n - 1 is permuted again until it falls inside (at most 4 times on average).
class RandomPermutation {
 public:
  /// Throws InputError unless 1 <= n <= 2^127.
  RandomPermutation(Uint128 n, std::uint64_t seed, std::uint64_t stream);

  /// The image of i; i < n.
  Uint128 operator()(Uint128 i) const;

 private:
  Uint128 n_;
  int half_bits_ = 0;
  std::uint64_t half_mask_ = 0;
  std::array<CounterRng, 4> rounds_;
};

/// Constant-time draws from a finite distribution (Walker 1977, in the construction of Vose 1991).
class AliasTable {
 public:
  /// Weights need not sum to 1; throws InputError unless all are finite, >= 0 and one is positive.
  explicit AliasTable(const std::vector<double>& weights);

  /// The cell that 64 random bits choose.
  std::uint32_t pick(std::uint64_t bits) const {
    const Uint128 product = static_cast<Uint128>(bits) * cells_.size();
    const Cell& cell = cells_[static_cast<std::size_t>(product >> 64)];
    return static_cast<std::uint64_t>(product) < cell.threshold ? cell.own : cell.alias;
  }

 private:
  struct Cell {
    std::uint64_t threshold;  ///< 2^64 times the probability of keeping the own cell
    std::uint32_t own, alias;
  };
  std::vector<Cell> cells_;
};

/// Draws from the power law P(k) ~ k^-s on 1 .. n without a table, for any n and s >= 0
/// (rejection-inversion: Hörmann and Derflinger, ACM TOMACS 6(3), 1996). The law's histogram lies
/// under the density x^-s taken between half-integers; a draw inverts the integral of the density,
/// rounds, and is rejected where the histogram is lower.
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
