// Feistel network with cycle walking.
#include "common/generate/permutation.hpp"

#include "common/core/error.hpp"

namespace retensor {

namespace {

int bits_of(Uint128 n) {
  int bits = 0;
  for (; n != 0; n >>= 1) ++bits;
  return bits;
}

}  // namespace

RandomPermutation::RandomPermutation(Uint128 n, std::uint64_t seed, std::uint64_t stream)
    : n_(n),
      rounds_{CounterRng(seed, 4 * stream), CounterRng(seed, 4 * stream + 1),
              CounterRng(seed, 4 * stream + 2), CounterRng(seed, 4 * stream + 3)} {
  if (n == 0 || n > Uint128{1} << 127)
    throw InputError("a random permutation needs between 1 and 2^127 elements");
  half_bits_ = (bits_of(n - 1) + 1) / 2;
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

}  // namespace retensor
