// Stable radix sort in counting passes, of which every order of the nonzeros is made, and what the
// arrays that it sorts are made of.
#pragma once

#include <omp.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "common/core/types.hpp"
#include "common/tensor/array.hpp"

namespace retensor::flycoo {

/// Calls f(i) for every i below n on all threads, each of which has a copy of f.
template <class F>
void for_all(Count n, F f) {
#pragma omp parallel for schedule(static) firstprivate(f)
  for (Count i = 0; i < n; ++i) f(i);
}

/// n elements without initial value: a parallel loop touches them first. Large ones lie on huge
/// pages, since most are written or read at random.
template <class T>
class Uninitialised {
 public:
  explicit Uninitialised(Count n)
      : data_(static_cast<T*>(allocate_array(n * sizeof(T)))), size_(n) {}
  std::span<T> all() { return {data_.get(), size_}; }
  std::span<const T> all() const { return {data_.get(), size_}; }

 private:
  struct Free {
    void operator()(T* at) const { std::free(at); }
  };
  std::unique_ptr<T, Free> data_;
  Count size_;
};

/// What a sort moves. The key travels along: to look it up in each pass would cost a cache miss.
template <class Value>
struct Keyed {
  std::uint32_t key;
  Value value;
};

/// Writes the elements of `from` to `to` by the `width` bits of their keys from bit `shift` on;
/// elements that agree in them keep their order. So many threads as there are shares count one each
/// and then move it.
template <class Value>
void counting_pass(std::span<const Keyed<Value>> from, std::span<Keyed<Value>> to, int shift,
                   int width, Count shares) {
  const std::uint32_t digits = std::uint32_t{1} << width;
  const auto digit = [=](const Keyed<Value>& e) { return e.key >> shift & (digits - 1); };
  const auto share = [&](Count s) {
    const Count begin = from.size() * s / shares;
    return from.subspan(begin, from.size() * (s + 1) / shares - begin);
  };
  std::vector<std::vector<Count>> at(shares, std::vector<Count>(digits));
#pragma omp parallel for schedule(static, 1) if (shares > 1)
  for (Count s = 0; s < shares; ++s)
    for (const auto& e : share(s)) ++at[s][digit(e)];
  Count before = 0;
  for (std::uint32_t d = 0; d < digits; ++d)
    for (auto& count : at) before += std::exchange(count[d], before);
#pragma omp parallel for schedule(static, 1) if (shares > 1)
  for (Count s = 0; s < shares; ++s) {
    Count* const place = at[s].data();
    for (const auto& e : share(s)) to[place[digit(e)]++] = e;
  }
}

/// Sorts stably by the lowest `bits` bits of the keys, in as few passes as digits of 11 bits allow:
/// 2048 places to write to at once are what a second-level TLB covers. `spare` is as long; the
/// result lies in the span that is returned.
template <class Value>
std::span<Keyed<Value>> stable_sort(std::span<Keyed<Value>> elements, std::span<Keyed<Value>> spare,
                                    int bits, Count shares) {
  constexpr int kWidest = 11;
  const int passes = (bits + kWidest - 1) / kWidest;
  for (int k = 0; k < passes; ++k) {
    const int shift = bits * k / passes;
    counting_pass<Value>(elements, spare, shift, bits * (k + 1) / passes - shift, shares);
    std::swap(elements, spare);
  }
  return elements;
}

/// Elements with the space that sorting them takes.
template <class Value>
class Sortable {
 public:
  explicit Sortable(Count n) : elements_(n), spare_(n) {}
  std::span<Keyed<Value>> all() { return elements_.all(); }
  /// Sorts them stably by the lowest `bits` bits of their keys, on all threads.
  void sort(int bits) {
    constexpr Count kLeastShare = 4096;  // below which a thread costs more than it saves
    const auto threads = static_cast<Count>(omp_get_max_threads());
    const Count shares = std::clamp<Count>(all().size() / kLeastShare, 1, threads);
    const auto sorted = stable_sort(all(), spare_.all(), bits, shares);
    if (sorted.data() != all().data()) std::swap(elements_, spare_);
  }

 private:
  Uninitialised<Keyed<Value>> elements_, spare_;
};

}  // namespace retensor::flycoo
