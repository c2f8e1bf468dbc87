// Counter-based random numbers: element i of a stream depends on (seed, stream, i) alone, so a
// result is the same for any number of threads.
#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>

#include "common/core/types.hpp"

namespace retensor {

class CounterRng {
 public:
  explicit constexpr CounterRng(std::uint64_t seed, std::uint64_t stream = 0)
      : key_(mix(seed + 0x9e3779b97f4a7c15ULL * (stream + 1))) {}

  /// 64 random bits for counter i.
  constexpr std::uint64_t bits(std::uint64_t i) const {
    return mix(key_ ^ mix(i + 0x632be59bd9b4e019ULL));
  }

  /// Uniform in [0, 1), 53 bits.
  constexpr double uniform(std::uint64_t i) const {
    return static_cast<double>(bits(i) >> 11) * 0x1.0p-53;
  }

  /// Uniform integer in [0, n) by the multiply-shift reduction; n > 0.
  constexpr std::uint64_t below(std::uint64_t i, std::uint64_t n) const {
    return static_cast<std::uint64_t>((static_cast<Uint128>(bits(i)) * n) >> 64);
  }

  /// Standard normal by Box-Muller; uses counters 2i and 2i+1.
  double normal(std::uint64_t i) const {
    const double u = 1.0 - uniform(2 * i);
    return std::sqrt(-2.0 * std::log(u)) * std::cos(2.0 * std::numbers::pi * uniform(2 * i + 1));
  }

 private:
  // The finaliser of SplitMix64 (Steele, Lea, Flood 2014), a bijection with full avalanche.
  static constexpr std::uint64_t mix(std::uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
  }
  std::uint64_t key_;
};

}  // namespace retensor
