#include "papers/tca_spmm/csr_sums.hpp"

#include <algorithm>
#include <array>
#include <tuple>

namespace retensor::tca_spmm {
namespace {

constexpr Count kLanes = 32, kBanks = 32, kBankBytes = 4;

Count bank_of(std::uint32_t entry) {
  return (entry & 0xffff) / kBankBytes % kBanks;
}

}  // namespace

std::vector<std::uint32_t> dealt_out(std::vector<std::uint32_t> entries) {
  const Count vectors = vectors_of(entries.size());
  const Count in_last = entries.size() - (vectors - 1) * kEntryVector;
  std::array<Count, kBanks> of_bank{};
  for (const auto entry : entries) ++of_bank[bank_of(entry)];
  std::sort(entries.begin(), entries.end(), [&](std::uint32_t a, std::uint32_t b) {
    const Count x = bank_of(a), y = bank_of(b);
    return std::tuple(of_bank[y], x, a) < std::tuple(of_bank[x], y, b);
  });
  // Stores: entry j of 32 vectors, the last ones of less. Fullest banks first, one entry a store.
  const Count stores = (vectors + kLanes - 1) / kLanes * kEntryVector;
  std::vector<Count> left(stores);
  for (Count store = 0; store < stores; ++store) {
    left[store] = std::min(kLanes, vectors - store / kEntryVector * kLanes);
    if (store / kEntryVector + 1 == stores / kEntryVector && store % kEntryVector >= in_last)
      --left[store];
  }
  const std::vector<Count> places = left;
  std::vector<std::uint32_t> dealt(vectors * kEntryVector);
  Count store = 0;
  for (const auto entry : entries) {
    while (left[store] == 0) store = (store + 1) % stores;
    const Count vector = store / kEntryVector * kLanes + places[store] - left[store]--;
    dealt[vector * kEntryVector + store % kEntryVector] = entry;
    store = (store + 1) % stores;
  }
  // What the last vector lacks its lane stores twice.
  const auto last = dealt.end() - static_cast<std::ptrdiff_t>(kEntryVector);
  std::fill(last + static_cast<std::ptrdiff_t>(in_last), dealt.end(), *last);
  return dealt;
}

}  // namespace retensor::tca_spmm
