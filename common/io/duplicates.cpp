// Duplicate search by sorted hashes of the coordinates. Equal hashes only raise a suspicion, which
// an exact stable sort then settles.
#include "common/io/duplicates.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include <boost/sort/block_indirect_sort/block_indirect_sort.hpp>

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

std::uint64_t hash_of(const Coo& t, Count x) {
  std::uint64_t h = 0;
  for (const auto& mode : t.indices) {
    h = (h ^ mode[x]) * 0x9e3779b97f4a7c15ULL;
    h ^= h >> 32;
  }
  h *= 0xd6e8feb86659fd93ULL;
  return h ^ h >> 29;
}

/// Whether two coordinates have one hash. Rounds by the highest bits of the hashes bound the
/// memory.
bool hashes_repeat(const Coo& t) {
  const double budget = 0.4 * static_cast<double>(t.bytes());
  int round_bits = 0;
  while (8.0 * static_cast<double>(t.nnz() >> round_bits) > budget) ++round_bits;
  std::vector<std::uint64_t> hashes;
  hashes.reserve(t.nnz() / 8 * 9 >> round_bits);  // a hash is as likely in any round
  for (std::uint64_t round = 0; round < std::uint64_t{1} << round_bits; ++round) {
    hashes.clear();
    for (Count x = 0; x < t.nnz(); ++x)
      if (const auto h = hash_of(t, x); round_bits == 0 || h >> (64 - round_bits) == round)
        hashes.push_back(h);
    boost::sort::block_indirect_sort(hashes.begin(), hashes.end());
    if (std::ranges::adjacent_find(hashes) != hashes.end()) return true;
  }
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

std::optional<DuplicatePair> first_duplicate_pair(const Coo& tensor) {
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
  const auto pair = first_duplicate_pair(tensor);
  if (!pair) return;
  const auto line = where(pair->earlier).line;
  throw ParseError(
      where(pair->later),
      fmt::format("coordinate {} again{}", coordinate_text(tensor, pair->later),
                  line == 0 ? "" : fmt::format(" (first on line {})", line)),
      "each coordinate once; 'retensor dataset convert --duplicates sum' adds them up");
}

}  // namespace retensor
