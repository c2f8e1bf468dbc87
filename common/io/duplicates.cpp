// Duplicate search without a comparison sort: coordinates are hashed to 64 bits, the hashes
// scattered into buckets that fit the cache, and each bucket entered into a small hash table. Equal
// hashes only raise a suspicion, which an exact stable sort then settles.
#include "common/io/duplicates.hpp"

#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <bit>
#include <utility>
#include <vector>

namespace retensor {
namespace {

bool same_coordinate(const Coo& t, Count a, Count b) {
  return std::all_of(t.indices.begin(), t.indices.end(),
                     [a, b](const auto& mode) { return mode[a] == mode[b]; });
}

bool precedes(const Coo& t, Count a, Count b) {
  for (const auto& mode : t.indices)
    if (mode[a] != mode[b]) return mode[a] < mode[b];
  return false;
}

bool strictly_sorted(const Coo& t) {
  bool sorted = true;
  const Count n = t.nnz();
#pragma omp parallel for reduction(&& : sorted)
  for (Count x = 1; x < n; ++x) sorted = sorted && precedes(t, x - 1, x);
  return sorted;
}

/// Never 0, which marks a free slot.
std::uint64_t hash_coordinate(const Coo& t, Count x) {
  std::uint64_t h = 0;
  for (const auto& mode : t.indices) {
    h = (h ^ mode[x]) * 0x9e3779b97f4a7c15ULL;
    h ^= h >> 32;
  }
  h *= 0xd6e8feb86659fd93ULL;
  h ^= h >> 29;
  return h == 0 ? 1 : h;
}

/// The hashes whose low bits equal `round`, grouped into buckets by their high bits. Each thread
/// counts and scatters a slice of the nonzeros of its own.
class HashRound {
 public:
  HashRound(const Coo& t, std::uint64_t rounds, std::uint64_t round)
      : tensor_(t), mask_(rounds - 1), round_(round), slices_(omp_get_max_threads()) {
    constexpr Count bucket_keys = Count{1} << 14, most_buckets = Count{1} << 12;
    buckets_ = std::bit_ceil(std::clamp<Count>(t.nnz() / rounds / bucket_keys, 1, most_buckets));
    std::vector<std::vector<Count>> next(slices_, std::vector<Count>(buckets_, 0));
    for_hashes([&next](int slice, Count bucket, std::uint64_t) { ++next[slice][bucket]; });
    Count total = 0;
    for (Count b = 0; b < buckets_; ++b) {
      starts_.push_back(total);
      for (auto& slice : next) total += std::exchange(slice[b], total);
    }
    starts_.push_back(total);
    hashes_.resize(total);
    for_hashes([this, &next](int slice, Count bucket, std::uint64_t h) {
      hashes_[next[slice][bucket]++] = h;
    });
  }

  bool has_equal() const {
    Count fullest = 0;
    for (Count b = 0; b < buckets_; ++b) fullest = std::max(fullest, starts_[b + 1] - starts_[b]);
    const std::vector<std::uint64_t> empty(std::bit_ceil(2 * fullest + 1), 0);
    std::vector<std::vector<std::uint64_t>> tables(slices_, empty);
    bool equal = false;
#pragma omp parallel for schedule(dynamic) reduction(|| : equal) num_threads(slices_)
    for (Count b = 0; b < buckets_; ++b)
      equal = equal || bucket_has_equal(b, tables[omp_get_thread_num()]);
    return equal;
  }

 private:
  /// Calls f(slice, bucket, hash) for every hash of the round, the slices in parallel.
  template <class F>
  void for_hashes(F f) const {
    const Count n = tensor_.nnz(), slices = slices_;
    const int bits = std::countr_zero(buckets_);
#pragma omp parallel for schedule(static, 1) num_threads(slices_)
    for (int s = 0; s < slices_; ++s) {
      const Count end = (n / slices) * (s + 1) + (n % slices) * (s + 1) / slices;
      for (Count x = (n / slices) * s + (n % slices) * s / slices; x < end; ++x) {
        const std::uint64_t h = hash_coordinate(tensor_, x);
        if ((h & mask_) == round_) f(s, bits == 0 ? 0 : h >> (64 - bits), h);
      }
    }
  }

  bool bucket_has_equal(Count bucket, std::vector<std::uint64_t>& table) const {
    std::fill(table.begin(), table.end(), 0);
    const Count slots = table.size() - 1;
    for (Count x = starts_[bucket]; x < starts_[bucket + 1]; ++x) {
      // The lowest bits are the same in the whole round, the highest in the bucket.
      Count at = (hashes_[x] >> 8) & slots;
      for (; table[at] != 0; at = (at + 1) & slots)
        if (table[at] == hashes_[x]) return true;
      table[at] = hashes_[x];
    }
    return false;
  }

  const Coo& tensor_;
  std::uint64_t mask_, round_;
  int slices_;
  Count buckets_ = 1;
  std::vector<Count> starts_;  ///< of the buckets in hashes_, and the end
  std::vector<std::uint64_t> hashes_;
};

bool hashes_repeat(const Coo& t) {
  const double budget = 0.4 * static_cast<double>(t.bytes());
  std::uint64_t rounds = 1;
  while (8.0 * static_cast<double>(t.nnz()) / static_cast<double>(rounds) > budget) rounds *= 2;
  for (std::uint64_t r = 0; r < rounds; ++r)
    if (HashRound(t, rounds, r).has_equal()) return true;
  return false;
}

std::optional<DuplicatePair> first_duplicate_by_sort(const Coo& t) {
  const auto by_coordinate = sort_permutation(t, natural_order(t.order()));
  std::optional<DuplicatePair> first;
  for (Count p = 1; p < by_coordinate.size(); ++p) {
    const Count a = by_coordinate[p - 1], b = by_coordinate[p];
    if (same_coordinate(t, a, b) && (!first || b < first->later)) first = DuplicatePair{a, b};
  }
  return first;
}

}  // namespace

std::optional<DuplicatePair> first_duplicate(const Coo& tensor) {
  if (strictly_sorted(tensor) || !hashes_repeat(tensor)) return std::nullopt;
  return first_duplicate_by_sort(tensor);
}

void resolve_duplicates(Coo& tensor, Duplicates policy,
                        const std::function<FilePosition(Count)>& where) {
  if (policy != Duplicates::error) {
    if (strictly_sorted(tensor)) return;
    dedupe(tensor, policy);
    if (policy == Duplicates::sum) tensor.check();
    return;
  }
  const auto pair = first_duplicate(tensor);
  if (!pair) return;
  const auto line = where(pair->earlier).line;
  throw ParseError(where(pair->later),
                   fmt::format("coordinate {} again{}", coordinate_text(tensor, pair->later),
                               line == 0 ? "" : fmt::format(" (first on line {})", line)),
                   "each coordinate once, or the duplicate policy sum or last");
}

}  // namespace retensor
