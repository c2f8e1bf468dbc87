// Coordinates packed into integers: sorting them and counting the different ones.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "common/core/types.hpp"
#include "common/tensor/coo.hpp"
#include "common/tensor/linear_index.hpp"

namespace retensor {

/// Sorts ascending on all cores, in place.
void sort_keys(std::span<std::uint64_t> keys);
void sort_keys(std::span<Uint128> keys);

/// Sorts a permutation of nonzeros stably by key_of<Key>(nonzero), numbers of `bits` bits; Key is
/// 64 bits wide or 128, which `bits` and those of a position must not pass. Below each key stands
/// the position, so that no sort can be unstable.
template <class KeyOf>
void stable_sort_by_key(std::vector<Count>& permutation, int bits, const KeyOf& key_of);

/// The coordinate of each nonzero over the modes listed, packed as by LinearIndex, in ascending
/// order; throws InputError when more than 128 bits are needed.
std::vector<Uint128> sorted_keys(const Coo& tensor, std::span<const int> modes);

/// Different coordinates over the modes listed in units of tiles of edge 2^shift: the non-empty
/// tiles of an aligned grid. Holds a key of 8, 16 or (beyond 128 bits) 32 bytes per nonzero.
Count distinct_coordinates(const Coo& tensor, std::span<const int> modes, int shift = 0);

/// Non-empty fibers of a mode (M_F of PASTA Table I): different coordinates over all other modes.
Count fiber_count(const Coo& tensor, int mode);

namespace detail {
template <class Key, class KeyOf>
void stable_sort_by_key(std::vector<Count>& permutation, int position_bits, const KeyOf& key_of) {
  std::vector<Key> keys(permutation.size());
#pragma omp parallel for schedule(static)
  for (Count p = 0; p < keys.size(); ++p)
    keys[p] = key_of.template operator()<Key>(permutation[p]) << position_bits | p;
  sort_keys(keys);
  const Key position = (Key{1} << position_bits) - 1;
#pragma omp parallel for schedule(static)
  for (Count p = 0; p < keys.size(); ++p)
    keys[p] = permutation[static_cast<Count>(keys[p] & position)];
#pragma omp parallel for schedule(static)
  for (Count p = 0; p < keys.size(); ++p) permutation[p] = static_cast<Count>(keys[p]);
}
}  // namespace detail

template <class KeyOf>
void stable_sort_by_key(std::vector<Count>& permutation, int bits, const KeyOf& key_of) {
  const int position_bits = bits_for(permutation.size());
  if (bits + position_bits < 64)
    detail::stable_sort_by_key<std::uint64_t>(permutation, position_bits, key_of);
  else
    detail::stable_sort_by_key<Uint128>(permutation, position_bits, key_of);
}

}  // namespace retensor
