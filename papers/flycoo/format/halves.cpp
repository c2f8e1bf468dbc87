// Modes in two halves by their lengths; tuples by sorting the nonzeros.
#include "papers/flycoo/format/halves.hpp"

#include <algorithm>
#include <utility>

#include "common/core/message.hpp"
#include "common/tensor/operations.hpp"

namespace retensor::flycoo {
namespace {

std::size_t at(int mode) {
  return static_cast<std::size_t>(mode);
}

/// The modes whose bits are set.
std::vector<int> modes_of(unsigned set) {
  std::vector<int> modes;
  for (int m = 0; set >> m != 0; ++m)
    if ((set >> m & 1) != 0) modes.push_back(m);
  return modes;
}

double most_tuples(const Dims& dims, Count nnz, unsigned set) {
  double tuples = 1;
  for (const int m : modes_of(set)) tuples *= static_cast<double>(dims[at(m)]);
  return std::min(tuples, static_cast<double>(nnz));
}

void append_mode(Coo& to, std::uint64_t length, std::vector<Index> indices) {
  to.dims.push_back(length);
  to.indices.push_back(std::move(indices));
}

Half half_of(const Coo& x, std::vector<int> own, const std::vector<int>& others) {
  const auto order = sort_permutation(x, own);
  std::vector<Index> tuple(x.nnz());
  std::vector<Count> first;  // nonzero of each tuple
  for (Count p = 0; p < order.size(); ++p) {
    const bool begins = p == 0 || std::ranges::any_of(own, [&](int m) {
                          return x.indices[at(m)][order[p]] != x.indices[at(m)][order[p - 1]];
                        });
    if (begins) first.push_back(order[p]);
    tuple[order[p]] = static_cast<Index>(first.size() - 1);
  }
  Half half;
  append_mode(half.nonzeros, first.size(), std::move(tuple));
  for (const int m : others) append_mode(half.nonzeros, x.dims[at(m)], x.indices[at(m)]);
  half.nonzeros.values = x.values;
  std::vector<Index> number(first.size());
  for (const int m : own) {
    std::ranges::transform(first, number.begin(), [&](Count p) { return x.indices[at(m)][p]; });
    append_mode(half.tuples, x.dims[at(m)], number);
  }
  for (Count t = 0; t < number.size(); ++t) number[t] = static_cast<Index>(t);
  append_mode(half.tuples, first.size(), std::move(number));
  half.tuples.values = Values(x.dtype(), first.size());
  half.tuples.values.visit([](auto& values) { std::ranges::fill(values, 1); });
  half.modes = std::move(own);
  return half;
}

}  // namespace

std::vector<int> first_half(const Dims& dims, Count nnz) {
  const auto order = static_cast<int>(dims.size());
  if (order < 4) throw input_error("halves of modes: found order {}, expected at least 4", order);
  const unsigned all = (1u << order) - 1;
  unsigned best = 0b11;
  const auto tuples = [&](unsigned set) {
    return most_tuples(dims, nnz, set) + most_tuples(dims, nnz, all & ~set);
  };
  for (unsigned set = 0b11; set <= all; set += 2) {
    const auto own = static_cast<int>(modes_of(set).size());
    if (own >= 2 && own <= order - 2 && tuples(set) < tuples(best)) best = set;
  }
  return modes_of(best);
}

std::array<Half, 2> to_halves(const Coo& tensor) {
  const auto first = first_half(tensor.dims, tensor.nnz());
  std::vector<int> second;
  for (int m = 0; m < tensor.order(); ++m)
    if (!std::ranges::binary_search(first, m)) second.push_back(m);
  return {half_of(tensor, first, second), half_of(tensor, second, first)};
}

}  // namespace retensor::flycoo
