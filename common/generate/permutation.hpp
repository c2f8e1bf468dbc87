// A keyed pseudo-random permutation of 0 .. n-1 that needs no table: the way to draw without
// replacement in parallel, since images of distinct arguments are distinct.
#pragma once

#include <array>
#include <cstdint>

#include "common/core/rng.hpp"
#include "common/core/types.hpp"

namespace retensor {

/// Four Feistel rounds over the smallest even number of bits that holds n (Luby and Rackoff 1988);
/// an image beyond n - 1 is permuted again until it falls inside (at most 4 times on average).
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

}  // namespace retensor
