// Duplicate search without a comparison sort: coordinates are hashed to 64 bits, the hashes
// scattered into buckets that fit the cache, and each bucket entered into a small hash table. Equal
// hashes only raise a suspicion, which an exact stable sort then settles.
#include "common/io/duplicates.hpp"

#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <array>
#include <bit>
#include <vector>

namespace retensor {
namespace {

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

/// Hashes of all coordinates of a tensor; never 0, which marks a free slot.
class CoordinateHash {
 public:
  explicit CoordinateHash(const Coo& t) : order_(t.order()) {
    for (int m = 0; m < order_; ++m) modes_[m] = t.indices[m].data();
  }
  std::uint64_t operator()(Count x) const {
    std::uint64_t h = 0;
    for (int m = 0; m < order_; ++m) {
      h = (h ^ modes_[m][x]) * 0x9e3779b97f4a7c15ULL;
      h ^= h >> 32;
    }
    h *= 0xd6e8feb86659fd93ULL;
    h ^= h >> 29;
    return h == 0 ? 1 : h;
  }

 private:
  int order_;
  std::array<const Index*, kMaxOrder> modes_{};
};

/// The hashes of a tensor in buckets by their highest bits. Rounds of buckets share one buffer,
/// which bounds the memory. Each thread counts and scatters a slice of the nonzeros of its own.
class HashBuckets {
 public:
  HashBuckets(const Coo& t, Count rounds)
      : hash_(t), nonzeros_(t.nnz()), slices_(omp_get_max_threads()) {
    constexpr Count keys_in_cache = Count{1} << 14, most_buckets = Count{1} << 12;
    const Count wanted = std::clamp<Count>(nonzeros_ / keys_in_cache, 2, most_buckets);
    const Count buckets = std::max(std::bit_ceil(wanted), rounds);
    in_round_ = buckets / rounds;
    crowd_ = 4 * (nonzeros_ / buckets) + 1024;
    shift_ = 64 - std::countr_zero(buckets);
    counts_.assign(slices_, std::vector<Count>(buckets, 0));
    for_hashes([this](int slice, std::uint64_t h) { ++counts_[slice][h >> shift_]; });
    Count fullest = 0;
    for (Count r = 0; r < rounds; ++r) fullest = std::max(fullest, size_of_round(r));
    hashes_.resize(fullest + slices_);
  }

  /// Whether two hashes in the buckets of this round are equal.
  bool repeat(Count round) {
    scatter(round * in_round_);
    Count fullest = 0;
    for (Count b = 0; b < in_round_; ++b) fullest = std::max(fullest, starts_[b + 1] - starts_[b]);
    // Distinct coordinates spread evenly: a crowded bucket holds repeats, and needs no table.
    if (fullest > crowd_) return true;
    for (auto& table : tables_)
      table.resize(std::max(table.size(), std::bit_ceil(2 * fullest + 1)));
    bool equal = false;
#pragma omp parallel for schedule(dynamic) reduction(|| : equal) num_threads(slices_)
    for (Count b = 0; b < in_round_; ++b)
      equal = equal || bucket_repeats(b, tables_[omp_get_thread_num()]);
    return equal;
  }

 private:
  /// Calls f(slice, hash) for every nonzero, the slices in parallel.
  template <class F>
  void for_hashes(F f) const {
    const Count size = nonzeros_ / slices_ + 1;
#pragma omp parallel for schedule(static, 1) num_threads(slices_)
    for (int s = 0; s < slices_; ++s) {
      const CoordinateHash hash = hash_;
      const Count end = std::min(nonzeros_, size * (s + 1));
      for (Count x = size * s; x < end; ++x) f(s, hash(x));
    }
  }

  Count size_of_round(Count round) const {
    Count total = 0;
    for (const auto& slice : counts_)
      for (Count b = 0; b < in_round_; ++b) total += slice[round * in_round_ + b];
    return total;
  }

  /// Groups the hashes of the buckets from `first` on, one round of them, in hashes_.
  void scatter(Count first) {
    std::vector<std::vector<Count>> next(slices_, std::vector<Count>(in_round_ + 1));
    starts_.clear();
    Count total = 0;
    for (Count b = 0; b < in_round_; ++b) {
      starts_.push_back(total);
      for (int s = 0; s < slices_; ++s) {
        next[s][b] = total;
        total += counts_[s][first + b];
      }
    }
    starts_.push_back(total);
    // Which round a hash belongs to can't be predicted, so those of others are not branched around
    // but thrown into a last bucket: one slot a slice, which never advances.
    for (int s = 0; s < slices_; ++s) next[s][in_round_] = total + s;
    for_hashes([&](int slice, std::uint64_t h) {
      const Count b = std::min((h >> shift_) - first, in_round_);
      Count& to = next[slice][b];
      hashes_[to] = h;
      to += b != in_round_;
    });
  }

  bool bucket_repeats(Count bucket, std::vector<std::uint64_t>& table) const {
    std::fill(table.begin(), table.end(), 0);
    const Count last = table.size() - 1;
    for (Count x = starts_[bucket]; x < starts_[bucket + 1]; ++x) {
      Count at = hashes_[x] & last;
      for (; table[at] != 0; at = (at + 1) & last)
        if (table[at] == hashes_[x]) return true;
      table[at] = hashes_[x];
    }
    return false;
  }

  CoordinateHash hash_;
  Count nonzeros_;
  int slices_;
  int shift_ = 0;
  Count in_round_ = 0;                      ///< buckets of a round
  Count crowd_ = 0;                         ///< more hashes than an even spread gives any bucket
  std::vector<std::vector<Count>> counts_;  ///< by slice and bucket
  std::vector<Count> starts_;               ///< of the round's buckets in hashes_, and the end
  std::vector<std::uint64_t> hashes_;       ///< of one round, then a slot for each slice
  std::vector<std::vector<std::uint64_t>> tables_{static_cast<std::size_t>(slices_)};
};

bool hashes_repeat(const Coo& t) {
  const double budget = 0.4 * static_cast<double>(t.bytes());
  Count rounds = 1;
  while (8.0 * static_cast<double>(t.nnz()) / static_cast<double>(rounds) > budget) rounds *= 2;
  HashBuckets buckets(t, rounds);
  for (Count r = 0; r < rounds; ++r)
    if (buckets.repeat(r)) return true;
  return false;
}

std::optional<DuplicatePair> first_duplicate_by_sort(const Coo& t) {
  const auto by_coordinate = sort_permutation(t, natural_order(t.order()));
  std::optional<DuplicatePair> first;
  for (Count p = 1; p < by_coordinate.size(); ++p) {
    const Count a = by_coordinate[p - 1], b = by_coordinate[p];
    if (!precedes(t, a, b) && (!first || b < first->later)) first = DuplicatePair{a, b};
  }
  return first;
}

}  // namespace

std::optional<DuplicatePair> first_duplicate(const Coo& tensor) {
  if (strictly_sorted(tensor) || !hashes_repeat(tensor)) return std::nullopt;
  return first_duplicate_by_sort(tensor);
}

void check_named(const Coo& tensor, const std::string& file) {
  try {
    tensor.check();
  } catch (Error& e) {
    e.add_context(file);
    throw;
  }
}

void resolve_duplicates(Coo& tensor, Duplicates policy,
                        const std::function<FilePosition(Count)>& where) {
  if (policy != Duplicates::error) {
    if (strictly_sorted(tensor)) return;
    dedupe(tensor, policy);
    if (policy == Duplicates::sum) check_named(tensor, where(0).file);
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
