// Collecting distinct random coordinates: draw, sort as packed keys, drop repeats, draw again what
// is missing, and drop a pseudo-random subset of the surplus.
//
// Memory: the keys (8 or 16 bytes a nonzero), at most twice while they grow or while the tensor is
// filled from them, which stays below three times the tensor.
#pragma once

#include <fmt/format.h>

#include <array>
#include <span>
#include <vector>

#include "common/core/error.hpp"
#include "common/generate/generators.hpp"
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

/// Number of coordinates; throws InputError when it passes 2^127.
Uint128 volume(const Dims& dims);
/// Coordinate of position p when the last mode varies fastest.
Coordinate coordinate_at(const Dims& dims, Uint128 p);
/// Layout of the keys; throws InputError when the target can't be met.
LinearIndex key_layout(const Target& target);
/// Values of the target's model.
Values target_values(const Target& target);

/// Keeps `count` of the sorted keys, every subset alike.
template <class Key>
void thin(std::vector<Key>& keys, Count count, std::uint64_t seed);

/// Sorts the keys from `sorted` on into the sorted ones before and drops repeats and rejects.
template <class Key>
void merge_new(std::vector<Key>& keys, Count sorted, Key rejected);

/// The tensor, still without values, whose coordinates the keys hold.
template <class Key>
Coo unpack(const Target& target, const LinearIndex& layout, const std::vector<Key>& keys);

/// The next number of draws: what is missing over the share of draws that helped so far and a
/// little more, at least twice the draws before, but never so many that memory doubles.
Count next_batch(Count nnz, Count missing, double yield, Count previous);

template <class Key, class Draw>
std::vector<Key> distinct_keys(const Target& target, const LinearIndex& layout, Draw draw) {
  const Key rejected = static_cast<Key>(~Key{0});  // no key: layouts leave the highest bit free
  std::vector<Key> keys;
  Count drawn = 0;
  for (Count batch = target.nnz; keys.size() < target.nnz;) {
    const Count kept = keys.size();
    keys.reserve(kept + batch);
    keys.resize(kept + batch);
#pragma omp parallel for schedule(static)
    for (Count i = 0; i < batch; ++i) {
      Coordinate coordinate{};
      keys[kept + i] = draw(drawn + i, coordinate)
                           ? layout.encode<Key>(std::span<const Index>(coordinate))
                           : rejected;
    }
    merge_new(keys, kept, rejected);
    drawn += batch;
    const double yield = static_cast<double>(keys.size() - kept) / static_cast<double>(batch);
    if (keys.size() < target.nnz && yield < kSmallestYield && batch >= kSmallestRound)
      throw InputError(fmt::format("{} draws gave {} distinct coordinates, {} are asked for", drawn,
                                   keys.size(), target.nnz));
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
  Coo tensor = layout.bits() < 64
                   ? unpack(target, layout, distinct_keys<std::uint64_t>(target, layout, draw))
                   : unpack(target, layout, distinct_keys<Uint128>(target, layout, draw));
  tensor.values = target_values(target);
  return tensor;
}

}  // namespace retensor::sampling
