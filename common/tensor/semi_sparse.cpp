// Semi-sparse coordinate tensors (PASTA section III.A): invariants, conversion from and to COO.
#include "common/tensor/semi_sparse.hpp"

#include <algorithm>

#include "common/core/message.hpp"
#include "common/tensor/operations.hpp"

namespace retensor {
namespace {

std::vector<int> complement(const std::vector<int>& modes, int order) {
  std::vector<int> rest;
  for (int m = 0; m < order; ++m)
    if (std::find(modes.begin(), modes.end(), m) == modes.end()) rest.push_back(m);
  return rest;
}

void check_dense_modes(const std::vector<int>& modes, int order) {
  for (std::size_t k = 0; k < modes.size(); ++k) {
    if (modes[k] < 0 || modes[k] >= order)
      throw input_error("dense mode {} is not a mode of order {}", modes[k] + 1, order);
    if (k > 0 && modes[k] <= modes[k - 1]) throw input_error("dense modes are not ascending");
  }
}

Dims dense_lengths(const SemiSparseCoo& tensor) {
  Dims lengths;
  for (const int m : tensor.dense_modes)
    lengths.push_back(tensor.dims.at(static_cast<std::size_t>(m)));
  return lengths;
}

// Position of a nonzero inside its dense block, the highest dense mode varying fastest.
Count block_offset(const Coo& tensor, const std::vector<int>& dense_modes, Count x) {
  Count offset = 0;
  for (const int m : dense_modes) offset = offset * tensor.dims[m] + tensor.indices[m][x];
  return offset;
}

bool same_fiber(const Coo& tensor, const std::vector<int>& sparse_modes, Count x, Count y) {
  return std::all_of(sparse_modes.begin(), sparse_modes.end(),
                     [&](int m) { return tensor.indices[m][x] == tensor.indices[m][y]; });
}

}  // namespace

std::vector<int> SemiSparseCoo::sparse_modes() const {
  return complement(dense_modes, order());
}

std::uint64_t SemiSparseCoo::dense_volume() const {
  return checked_volume(dense_lengths(*this));
}

Count SemiSparseCoo::bytes() const {
  Count total = values.bytes();
  for (const auto& mode : indices) total += mode.size() * sizeof(Index);
  return total;
}

Coo SemiSparseCoo::to_coo() const {
  Coo coo(dims, values.dtype(), nnz());
  const Count volume = dense_volume();
  const std::vector<int> sparse = sparse_modes();
  for (std::size_t s = 0; s < sparse.size(); ++s)
    for (Count x = 0; x < nnz(); ++x) coo.indices[sparse[s]][x] = indices[s][x / volume];
  Count stride = 1;
  for (std::size_t k = dense_modes.size(); k-- > 0;) {
    const int m = dense_modes[k];
    for (Count x = 0; x < nnz(); ++x)
      coo.indices[m][x] = static_cast<Index>(x % volume / stride % dims[m]);
    stride *= dims[m];
  }
  coo.values = values;
  return coo;
}

void SemiSparseCoo::check() const {
  if (dims.empty() || order() > kMaxOrder)
    throw input_error("order {} is not between 1 and {}", dims.size(), kMaxOrder);
  check_dense_modes(dense_modes, order());
  const std::vector<int> sparse = sparse_modes();
  if (indices.size() != sparse.size())
    throw input_error("{} index arrays for {} sparse modes", indices.size(), sparse.size());
  for (std::size_t s = 0; s < sparse.size(); ++s) {
    if (indices[s].size() != fibers())
      throw input_error("mode {}: {} indices for {} fibers", sparse[s] + 1, indices[s].size(),
                        fibers());
    const std::uint64_t length = dims[sparse[s]];
    for (Count f = 0; f < fibers(); ++f)
      if (indices[s][f] >= length)
        throw input_error("fiber {}: index {} of mode {} is beyond its length {}", f + 1,
                          std::uint64_t{indices[s][f]} + 1, sparse[s] + 1, length);
  }
  if (nnz() != checked_volume({fibers(), dense_volume()}))
    throw input_error("{} values for {} fibers of {} elements", nnz(), fibers(), dense_volume());
  to_coo().check();
}

SemiSparseCoo to_semi_sparse(const Coo& tensor, const std::vector<int>& dense_modes) {
  check_dense_modes(dense_modes, tensor.order());
  SemiSparseCoo result;
  result.dims = tensor.dims;
  result.dense_modes = dense_modes;
  const std::vector<int> sparse = result.sparse_modes();
  result.indices.resize(sparse.size());

  const std::vector<Count> at = sort_permutation(tensor, sparse);
  std::vector<Count> fiber_of(at.size());  // of the nonzero at each sorted position
  Count fibers = 0;
  for (Count p = 0; p < at.size(); ++p) {
    if (p == 0 || !same_fiber(tensor, sparse, at[p - 1], at[p])) {
      for (std::size_t s = 0; s < sparse.size(); ++s)
        result.indices[s].push_back(tensor.indices[sparse[s]][at[p]]);
      ++fibers;
    }
    fiber_of[p] = fibers - 1;
  }

  const Count volume = result.dense_volume();
  result.values = Values(tensor.dtype(), checked_volume({result.fibers(), volume}));
  result.values.visit([&]<class T>(Array<T>& block) {
    const auto from = tensor.values.as<T>();
    for (Count p = 0; p < at.size(); ++p)
      block[fiber_of[p] * volume + block_offset(tensor, dense_modes, at[p])] += from[at[p]];
  });
  return result;
}

}  // namespace retensor
