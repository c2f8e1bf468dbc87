// Sorting of coordinate tensors by packed keys.
//
// The coordinates of the compared modes and, below them, the position of the nonzero are packed
// into one integer of 64 or 128 bits: a comparison is one integer comparison whatever the order.
// Modes that need more bits are split into groups; stable sorts from the least to the most
// significant group give the lexicographic order.

#include <algorithm>
#include <numeric>

#include "common/core/message.hpp"
#include "common/tensor/keys.hpp"
#include "common/tensor/linear_index.hpp"
#include "common/tensor/operations.hpp"

namespace retensor {
namespace {

void check_modes(const Coo& tensor, std::span<const int> modes) {
  std::vector<bool> seen(tensor.dims.size(), false);
  for (const int m : modes) {
    if (m < 0 || m >= tensor.order())
      throw input_error("mode {} is not a mode of order {}", m + 1, tensor.order());
    if (seen[static_cast<std::size_t>(m)]) throw input_error("mode {} is listed twice", m + 1);
    seen[static_cast<std::size_t>(m)] = true;
  }
}

// Runs of consecutive modes, each of at most `most` bits, the most significant first.
std::vector<std::span<const int>> key_groups(const Dims& dims, std::span<const int> modes,
                                             int most) {
  std::vector<std::span<const int>> groups;
  std::size_t begin = 0;
  int bits = 0;
  for (std::size_t k = 0; k < modes.size(); ++k) {
    const int width = bits_for(dims[static_cast<std::size_t>(modes[k])]);
    if (bits + width > most) {
      groups.push_back(modes.subspan(begin, k - begin));
      begin = k;
      bits = 0;
    }
    bits += width;
  }
  groups.push_back(modes.subspan(begin));
  return groups;
}

std::vector<Count> permutation_of_unsorted(const Coo& tensor, std::span<const int> modes) {
  std::vector<Count> permutation(tensor.nnz());
  std::iota(permutation.begin(), permutation.end(), Count{0});
  const int position_bits = bits_for(tensor.nnz());
  const auto groups = key_groups(tensor.dims, modes, 128 - position_bits);
  for (auto group = groups.rbegin(); group != groups.rend(); ++group) {
    const LinearIndex layout(tensor.dims, *group);
    stable_sort_by_key(permutation, layout.bits(), [&]<class Key>(Count x) {
      Key key = 0;
      for (std::size_t k = 0; k < layout.modes().size(); ++k)
        key |= static_cast<Key>(tensor.indices[static_cast<std::size_t>(layout.modes()[k])][x])
               << layout.shift(static_cast<int>(k));
      return key;
    });
  }
  return permutation;
}

template <class Vector>
void gather(Vector& array, std::span<const Count> permutation) {
  Vector moved(array.size());
#pragma omp parallel for schedule(static)
  for (Count p = 0; p < moved.size(); ++p) moved[p] = array[permutation[p]];
  array = std::move(moved);
}

}  // namespace

std::vector<int> natural_order(int order) {
  std::vector<int> modes(static_cast<std::size_t>(order));
  std::iota(modes.begin(), modes.end(), 0);
  return modes;
}

std::vector<int> modes_by_length(const Dims& dims) {
  std::vector<int> modes = natural_order(static_cast<int>(dims.size()));
  std::ranges::stable_sort(modes, {}, [&](int m) { return dims[static_cast<std::size_t>(m)]; });
  return modes;
}

std::vector<int> fiber_order(int order, int last) {
  if (last < 0 || last >= order)
    throw input_error("mode {} is not a mode of order {}", last + 1, order);
  std::vector<int> modes = natural_order(order);
  std::rotate(modes.begin() + last, modes.begin() + last + 1, modes.end());
  return modes;
}

bool is_sorted(const Coo& tensor, std::span<const int> modes) {
  check_modes(tensor, modes);
  bool sorted = true;
#pragma omp parallel for reduction(&& : sorted) schedule(static)
  for (Count x = 1; x < tensor.nnz(); ++x) {
    if (!sorted) continue;
    for (const int m : modes) {
      const auto& mode = tensor.indices[static_cast<std::size_t>(m)];
      if (mode[x - 1] == mode[x]) continue;
      sorted = mode[x - 1] < mode[x];
      break;
    }
  }
  return sorted;
}

std::vector<Count> sort_permutation(const Coo& tensor, std::span<const int> modes) {
  if (!is_sorted(tensor, modes)) return permutation_of_unsorted(tensor, modes);
  std::vector<Count> identity(tensor.nnz());
  std::iota(identity.begin(), identity.end(), Count{0});
  return identity;
}

void apply_permutation(Coo& tensor, std::span<const Count> permutation) {
  if (permutation.size() != tensor.nnz())
    throw input_error("a permutation of {} for {} nonzeros", permutation.size(), tensor.nnz());
  for (auto& mode : tensor.indices) gather(mode, permutation);
  tensor.values.visit([permutation](auto& values) { gather(values, permutation); });
}

void sort_nonzeros(Coo& tensor, std::span<const int> modes) {
  if (!is_sorted(tensor, modes)) apply_permutation(tensor, permutation_of_unsorted(tensor, modes));
}

}  // namespace retensor
