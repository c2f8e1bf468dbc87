// Collecting distinct random coordinates: draw, sort as packed keys, drop repeats, draw again what
// is missing, and drop a pseudo-random subset of the surplus.
//
// Memory: the keys (8 or 16 bytes a nonzero), at most twice while they grow or while the tensor is
// filled from them, which stays below three times the tensor.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "common/core/message.hpp"
#include "common/core/rng.hpp"
#include "common/generate/generators.hpp"
#include "common/generate/unset_array.hpp"
#include "common/tensor/keys.hpp"
#include "common/tensor/linear_index.hpp"

namespace retensor::sampling {

/// One coordinate, in the order of the modes; entries from the tensor's order on are unused.
using Coordinate = std::array<Index, kMaxOrder>;

/// Streams below kFirstReserved are free for the laws of the generators.
inline constexpr std::uint64_t kFirstReserved = 1ULL << 32;
inline constexpr std::uint64_t kValueStream = kFirstReserved;
inline constexpr std::uint64_t kThinningStream = kFirstReserved + 1;

/// Drawing is given up when a round of kSmallestRound or more draws finds fewer than this share
/// new.
inline constexpr double kSmallestYield = 1.0 / 512;
inline constexpr Count kSmallestRound = 65536;

template <class Key>
using Keys = UnsetArray<Key>;

/// No key: layouts leave the highest bit free.
template <class Key>
inline constexpr Key kRejected = static_cast<Key>(~Key{0});

/// Number of coordinates; throws InputError when it passes 2^127.
Uint128 volume(const Dims& dims);
/// Coordinate of position p when the last mode varies fastest.
Coordinate coordinate_at(const Dims& dims, Uint128 p);
/// Layout of the keys; throws InputError when the target can't be met.
LinearIndex key_layout(const Target& target);

/// Keeps `count` of the sorted keys, every subset alike (selection sampling: Knuth, TAOCP vol. 2,
/// algorithm 3.4.2 S).
template <class Key>
void thin(Keys<Key>& keys, Count count, std::uint64_t seed) {
  const CounterRng rng(seed, kThinningStream);
  const Count n = keys.size();
  Count kept = 0;
  for (Count i = 0; i < n && kept < count; ++i)
    if (rng.below(i, n - i) < count - kept) keys[kept++] = keys[i];
  keys.resize(count);
}

/// Sorts the keys from `sorted` on into the sorted ones before and drops repeats and rejects, on
/// all cores.
void merge_new(Keys<std::uint64_t>& keys, Count sorted);
void merge_new(Keys<Uint128>& keys, Count sorted);

/// The tensor, still without values, whose coordinates the keys hold.
template <class Key>
Coo unpack(const Target& target, const LinearIndex& layout, const Keys<Key>& keys) {
  Coo tensor(target.dims, target.dtype);
  for (std::size_t m = 0; m < tensor.dims.size(); ++m) {
    auto& index = tensor.indices[m];
    index.resize(keys.size());
#pragma omp parallel for schedule(static)
    for (Count x = 0; x < keys.size(); ++x) index[x] = layout.decode(keys[x], static_cast<int>(m));
  }
  return tensor;
}

/// Calls f<Key>() with the narrowest type of keys, of which kRejected is none.
template <class F>
decltype(auto) with_key(const LinearIndex& layout, const F& f) {
  return layout.bits() < 64 ? f.template operator()<std::uint64_t>()
                            : f.template operator()<Uint128>();
}

/// The next number of draws: what is missing over the share of draws that helped so far and a
/// little more, at least twice the draws before, but never so many that memory doubles.
Count next_batch(Count nnz, Count missing, double yield, Count previous);

template <class Key, class Draw>
Keys<Key> distinct_keys(const Target& target, const LinearIndex& layout, Draw draw) {
  Keys<Key> keys;
  Count drawn = 0;
  for (Count batch = target.nnz; keys.size() < target.nnz;) {
    const Count kept = keys.size();
    keys.resize(kept + batch);
#pragma omp parallel for schedule(static)
    for (Count i = 0; i < batch; ++i) {
      Coordinate coordinate{};
      keys[kept + i] = draw(drawn + i, coordinate)
                           ? layout.encode<Key>(std::span<const Index>(coordinate))
                           : kRejected<Key>;
    }
    merge_new(keys, kept);
    drawn += batch;
    const double yield = static_cast<double>(keys.size() - kept) / static_cast<double>(batch);
    if (keys.size() < target.nnz && yield < kSmallestYield && batch >= kSmallestRound)
      throw input_error("{} draws gave {} distinct coordinates, {} are asked for", drawn,
                        keys.size(), target.nnz);
    if (keys.size() < target.nnz)
      batch = next_batch(target.nnz, target.nnz - keys.size(), yield, drawn == batch ? 0 : batch);
  }
  thin(keys, target.nnz, target.seed);
  return keys;
}

/// The tensor whose coordinates are the first nnz distinct ones, up to thinning, that draw(counter,
/// coordinate&) gives for counters 0, 1, ...; a draw that returns false is rejected. `draw` must be
/// a pure function. Throws InputError when distinct coordinates become too rare.
template <class Draw>
Coo collect(const Target& target, Draw draw) {
  const LinearIndex layout = key_layout(target);
  Coo tensor = with_key(layout, [&]<class Key>() {
    return unpack(target, layout, distinct_keys<Key>(target, layout, draw));
  });
  tensor.values = draw_values(target.values, target.dtype, target.nnz, target.seed, kValueStream);
  return tensor;
}

}  // namespace retensor::sampling
