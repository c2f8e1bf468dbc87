// Of Boost.Sort's parallel sorts block_indirect_sort was the fastest on packed keys and needs no
// second array. It takes long to compile, hence once for all who sort keys.
#include "common/tensor/keys.hpp"

#include <omp.h>

#include <algorithm>
#include <array>
#include <boost/sort/block_indirect_sort/block_indirect_sort.hpp>
#include <functional>
#include <type_traits>

#include "common/tensor/linear_index.hpp"
#include "common/tensor/operations.hpp"

namespace retensor {
namespace {

/// Keys of more than 128 bits.
using WideKey = std::array<Index, kMaxOrder>;

template <class Key>
void sort_on_all_cores(std::span<Key> keys) {
  boost::sort::block_indirect_sort(keys.begin(), keys.end(), std::less<Key>(),
                                   static_cast<std::uint32_t>(omp_get_max_threads()));
}

/// Bits of a mode's indices in units of tiles.
int tile_bits(const Coo& tensor, int mode, int shift) {
  const auto length = tensor.dims[static_cast<std::size_t>(mode)];
  return length == 0 ? 0 : bits_for(((length - 1) >> shift) + 1);
}

template <class Key>
std::vector<Key> keys_of(const Coo& tensor, std::span<const int> modes, int shift) {
  std::vector<Key> keys(tensor.nnz());
  for (std::size_t k = 0; k < modes.size(); ++k) {
    const auto& indices = tensor.indices[static_cast<std::size_t>(modes[k])];
    const int width = tile_bits(tensor, modes[k], shift);
#pragma omp parallel for schedule(static)
    for (Count x = 0; x < keys.size(); ++x) {
      const Index tile = indices[x] >> shift;
      if constexpr (std::is_same_v<Key, WideKey>)
        keys[x][k] = tile;
      else
        keys[x] = keys[x] << width | tile;
    }
  }
  return keys;
}

/// Tensors are mostly sorted by their modes in order, and fibers of the last mode with them.
template <class Key>
void sort_unsorted(std::vector<Key>& keys) {
  if (std::is_sorted(keys.begin(), keys.end())) return;
  if constexpr (std::is_same_v<Key, WideKey>)
    std::sort(keys.begin(), keys.end());  // no data set of the field: one core will do
  else
    sort_keys(keys);
}

template <class Key>
Count count_different(std::vector<Key> keys) {
  sort_unsorted(keys);
  Count different = keys.empty() ? 0 : 1;
#pragma omp parallel for reduction(+ : different) schedule(static)
  for (Count x = 1; x < keys.size(); ++x) different += keys[x - 1] == keys[x] ? 0U : 1U;
  return different;
}

}  // namespace

void sort_keys(std::span<std::uint64_t> keys) {
  sort_on_all_cores(keys);
}

void sort_keys(std::span<Uint128> keys) {
  sort_on_all_cores(keys);
}

std::vector<Uint128> sorted_keys(const Coo& tensor, std::span<const int> modes) {
  const LinearIndex layout(tensor.dims, modes);  // refuses more than 128 bits
  auto keys = keys_of<Uint128>(tensor, layout.modes(), 0);
  sort_unsorted(keys);
  return keys;
}

Count distinct_coordinates(const Coo& tensor, std::span<const int> modes, int shift) {
  int bits = 0;
  for (const int m : modes) bits += tile_bits(tensor, m, shift);
  if (bits < 64) return count_different(keys_of<std::uint64_t>(tensor, modes, shift));
  if (bits <= 128) return count_different(keys_of<Uint128>(tensor, modes, shift));
  return count_different(keys_of<WideKey>(tensor, modes, shift));
}

Count fiber_count(const Coo& tensor, int mode) {
  auto others = natural_order(tensor.order());
  others.erase(others.begin() + mode);
  return distinct_coordinates(tensor, others);
}

}  // namespace retensor
