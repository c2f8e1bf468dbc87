// Rows of bits inside the bitmap of a block.
#pragma once

#include <bit>
#include <cstdint>
#include <span>

#include "common/core/types.hpp"

namespace retensor::bcb_sptc {

/// `n` bits from bit `first` on; n is a power of two of at most 64, first a multiple of n.
inline std::uint64_t bits_at(std::span<const std::uint64_t> words, Count first, Count n) {
  const std::uint64_t from = words[first / 64] >> (first % 64);
  return n == 64 ? from : from & ((std::uint64_t{1} << n) - 1);
}

/// Calls f with the place of each set bit, ascending.
template <class F>
void for_each_bit(std::span<const std::uint64_t> words, const F& f) {
  for (Count w = 0; w < words.size(); ++w)
    for (std::uint64_t rest = words[w]; rest != 0; rest &= rest - 1)
      f(static_cast<Index>(w * 64 + static_cast<Count>(std::countr_zero(rest))));
}

}  // namespace retensor::bcb_sptc
