// Small tensors of tests of formats: as a map from coordinates to values, and back.
#pragma once

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "common/core/rng.hpp"
#include "common/numeric/stored.hpp"
#include "common/tensor/coo.hpp"

namespace retensor::test {

using Entries = std::map<std::vector<Index>, float>;

/// In single precision, coordinates ascending.
inline Coo tensor_of(const Dims& dims, const Entries& entries) {
  Coo tensor(dims, DType::f32, entries.size());
  Count x = 0;
  for (const auto& [at, value] : entries) {
    for (std::size_t m = 0; m < dims.size(); ++m) tensor.indices[m][x] = at[m];
    tensor.values.set(x++, value);
  }
  return tensor;
}

/// All nonzeros, repeated coordinates too, in one order whatever theirs: equal tensors have equal
/// lists.
inline std::vector<std::pair<std::vector<Index>, double>> sorted_entries(const Coo& tensor) {
  std::vector<std::pair<std::vector<Index>, double>> entries(tensor.nnz());
  for (Count x = 0; x < tensor.nnz(); ++x) {
    for (const auto& index : tensor.indices) entries[x].first.push_back(index[x]);
    entries[x].second = tensor.values.at(x);
  }
  std::sort(entries.begin(), entries.end());
  return entries;
}

/// Values rounded as a format stores them.
inline Entries entries_of(const Coo& tensor, ValueType values) {
  Entries entries;
  std::vector<Index> at(tensor.dims.size());
  for (Count x = 0; x < tensor.nnz(); ++x) {
    for (std::size_t m = 0; m < at.size(); ++m) at[m] = tensor.indices[m][x];
    entries[at] = rounded(static_cast<float>(tensor.values.at(x)), values);
  }
  return entries;
}

/// Half of the nonzeros gather in the first cells of every mode. At most `nnz`: coordinates that
/// are drawn twice have one.
inline Entries clustered_entries(const Dims& dims, Count nnz, std::uint64_t seed) {
  const CounterRng rng(seed);
  Entries entries;
  std::uint64_t draw = 0;
  for (Count x = 0; x < nnz; ++x) {
    std::vector<Index> at;
    for (const auto length : dims) {
      const auto within = x % 2 == 0 ? length : std::min<std::uint64_t>(length, 7);
      at.push_back(static_cast<Index>(rng.uniform(draw++) * static_cast<double>(within)));
    }
    entries[at] = static_cast<float>(rng.uniform(draw++)) - 0.5f;
  }
  return entries;
}

}  // namespace retensor::test
