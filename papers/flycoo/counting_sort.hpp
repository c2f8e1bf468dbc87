// Stable parallel counting sort, the one pass of which every order of the nonzeros is made.
#pragma once

#include <omp.h>

#include <algorithm>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "common/core/types.hpp"

namespace retensor::flycoo {

/// n elements without initial value: a parallel loop touches them first.
template <class T>
class Uninitialised {
 public:
  Uninitialised() = default;
  explicit Uninitialised(Count n) : data_(std::make_unique_for_overwrite<T[]>(n)), size_(n) {}
  std::span<T> all() { return {data_.get(), size_}; }
  std::span<const T> all() const { return {data_.get(), size_}; }

 private:
  std::unique_ptr<T[]> data_;
  Count size_ = 0;
};

/// Writes the elements of `from` to `to` by ascending key; elements with equal keys keep their
/// order. key(element) is below `keys`. A thread counts the keys of its share, then moves it.
template <class T, class Key>
void stable_counting_sort(std::span<const T> from, std::span<T> to, std::uint32_t keys, Key&& key) {
  constexpr Count kLeastShare = 4096;  // elements, below which a thread costs more than it saves
  const Count shares =
      std::clamp<Count>(from.size() / kLeastShare, 1, static_cast<Count>(omp_get_max_threads()));
  Uninitialised<std::uint32_t> computed(from.size());  // a key may cost a cache miss: keep it
  const auto key_of = computed.all();
  std::vector<std::vector<Count>> at(shares, std::vector<Count>(keys));
  const auto begin = [&](Count share) { return from.size() / shares * share; };
  const auto end = [&](Count share) {
    return share + 1 == shares ? from.size() : begin(share + 1);
  };
#pragma omp parallel for schedule(static, 1) num_threads(static_cast <int>(shares))
  for (Count s = 0; s < shares; ++s)
    for (Count p = begin(s); p < end(s); ++p) ++at[s][key_of[p] = key(from[p])];
  Count before = 0;
  for (std::uint32_t k = 0; k < keys; ++k)
    for (auto& share : at) before += std::exchange(share[k], before);
#pragma omp parallel for schedule(static, 1) num_threads(static_cast <int>(shares))
  for (Count s = 0; s < shares; ++s)
    for (Count p = begin(s); p < end(s); ++p) to[at[s][key_of[p]]++] = from[p];
}

}  // namespace retensor::flycoo
