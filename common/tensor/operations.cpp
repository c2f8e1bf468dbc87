// Coordinate tensors: merging of duplicates, fibers.
#include "common/tensor/operations.hpp"

#include <algorithm>

#include "common/core/message.hpp"

namespace retensor {
namespace {

bool same_coordinate(const Coo& tensor, Count x, Count y) {
  return std::all_of(tensor.indices.begin(), tensor.indices.end(),
                     [x, y](const auto& mode) { return mode[x] == mode[y]; });
}

// The first nonzero of a sorted tensor that repeats the coordinate of the one before it, or nnz.
Count repeated_coordinate(const Coo& sorted) {
  const Count n = sorted.nnz();
  Count first = n;
#pragma omp parallel for reduction(min : first) schedule(static)
  for (Count x = 1; x < n; ++x)
    if (x < first && same_coordinate(sorted, x - 1, x)) first = x;
  return first;
}

// Moves one nonzero of each run to the front; value(begin, end) gives the merged value.
template <class T, class Merge>
void compact(Coo& sorted, Array<T>& values, Merge merge) {
  const Count n = values.size();
  Count kept = 0;
  for (Count begin = 0; begin < n;) {
    Count end = begin + 1;
    while (end < n && same_coordinate(sorted, begin, end)) ++end;
    values[kept] = merge(begin, end);
    for (auto& mode : sorted.indices) mode[kept] = mode[begin];
    ++kept;
    begin = end;
  }
  for (auto& mode : sorted.indices) mode.resize(kept);
  values.resize(kept);
}

}  // namespace

Coo with_modes(Coo tensor, std::span<const int> modes) {
  Coo result;
  for (const int m : modes) {
    result.dims.push_back(tensor.dims[m]);
    result.indices.push_back(std::move(tensor.indices[m]));
  }
  result.values = std::move(tensor.values);
  return result;
}

void dedupe(Coo& tensor, Duplicates policy) {
  sort_nonzeros(tensor, natural_order(tensor.order()));
  const Count duplicate = repeated_coordinate(tensor);
  if (duplicate == tensor.nnz()) return;
  if (policy == Duplicates::error)
    throw input_error("duplicate coordinate {}", coordinate_text(tensor, duplicate));
  tensor.values.visit([&]<class T>(Array<T>& values) {
    compact(tensor, values, [&values, policy](Count begin, Count end) {
      if (policy == Duplicates::last) return values[end - 1];
      double sum = 0;
      for (Count x = begin; x < end; ++x) sum += static_cast<double>(values[x]);
      return static_cast<T>(sum);
    });
  });
}

std::vector<Count> fiber_starts(const Coo& tensor, int mode) {
  const std::vector<int> order = fiber_order(tensor.order(), mode);
  if (!is_sorted(tensor, order))
    throw input_error("fibers of mode {}: the tensor is not sorted by that mode last", mode + 1);
  std::vector<Count> starts;
  const auto same_fiber = [&](Count x) {
    return std::all_of(order.begin(), order.end() - 1, [&](int m) {
      const auto& index = tensor.indices[static_cast<std::size_t>(m)];
      return index[x - 1] == index[x];
    });
  };
  for (Count x = 0; x < tensor.nnz(); ++x)
    if (x == 0 || !same_fiber(x)) starts.push_back(x);
  starts.push_back(tensor.nnz());
  return starts;
}

}  // namespace retensor
