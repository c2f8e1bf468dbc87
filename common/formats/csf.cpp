// COO <-> CSF.
//
// Sorted nonzeros are compared with the one before: a change in level l begins a node in l and in
// all levels below. Cuts of long fibers are changes in the fibers' level. Each level above the
// leaves is then a selection of positions, and the children of a node begin where its position
// stands in the next.
#include "common/formats/csf.hpp"

#include <algorithm>
#include <cstdint>

#include "common/core/message.hpp"
#include "common/tensor/operations.hpp"
#include "common/tensor/positions.hpp"

namespace retensor {
namespace {

using Changes = std::vector<std::uint8_t>;

std::size_t at(int level) {
  return static_cast<std::size_t>(level);
}

// The highest level in which each sorted nonzero differs from the one before; the last for equals.
Changes changes_of(const Coo& x, const std::vector<int>& modes,
                   const std::vector<Count>& permutation) {
  Changes change(permutation.size(), 0);
#pragma omp parallel for schedule(static)
  for (Count p = 1; p < change.size(); ++p) {
    std::size_t level = 0;
    while (level + 1 < modes.size()) {
      const auto& index = x.indices[at(modes[level])];
      if (index[permutation[p - 1]] != index[permutation[p]]) break;
      ++level;
    }
    change[p] = static_cast<std::uint8_t>(level);
  }
  return change;
}

// Where the nodes of a level begin, at a change in it or above, and the end.
std::vector<Count> node_bounds(const Changes& change, int level) {
  return positions_where(change.size() + 1,
                         [&](Count p) { return p == change.size() || change[p] <= level; });
}

void cut_fibers(Changes& change, int fiber_level, Count limit) {
  const std::vector<Count> fiber = node_bounds(change, fiber_level);
#pragma omp parallel for schedule(static)
  for (Count f = 0; f < fiber.size() - 1; ++f)
    for (Count p = fiber[f]; fiber[f + 1] - p > limit;)
      change[p += limit] = static_cast<std::uint8_t>(fiber_level);
}

// Where each of the ascending bounds stands among those of the level below.
std::vector<Count> ranks(const std::vector<Count>& bounds, const std::vector<Count>& below) {
  std::vector<Count> rank(bounds.size());
#pragma omp parallel for schedule(static)
  for (Count k = 0; k < rank.size(); ++k)
    rank[k] =
        static_cast<Count>(std::lower_bound(below.begin(), below.end(), bounds[k]) - below.begin());
  return rank;
}

std::vector<int> modes_of(const Coo& tensor, const std::vector<int>& given) {
  if (given.empty()) return natural_order(tensor.order());
  if (given.size() != tensor.dims.size())
    throw input_error("CSF: found {} modes, expected all {}", given.size(), tensor.order());
  return given;
}

void check_modes(const Csf& f) {
  std::vector<int> sorted = f.modes;
  std::sort(sorted.begin(), sorted.end());
  if (f.dims.empty() || sorted != natural_order(f.order()))
    throw input_error("CSF: levels do not list each of the {} modes once", f.dims.size());
}

void check_lengths(const Csf& f) {
  if (f.index.size() != f.dims.size() || f.start.size() + 1 != f.dims.size() ||
      f.index.back().size() != f.values.size())
    throw input_error("CSF: numbers of levels, leaves and values disagree");
  for (int l = 0; l + 1 < f.order(); ++l) {
    const auto& start = f.start[at(l)];
    if (start.size() != f.nodes(l) + 1 || start.front() != 0 || start.back() != f.nodes(l + 1))
      throw input_error("CSF: starts of level {} do not span level {}", l, l + 1);
    for (Count k = 0; k < f.nodes(l); ++k)
      if (start[k] >= start[k + 1])
        throw input_error("CSF: node {} of level {} has no children", k, l);
  }
}

void check_fibers(const Csf& f) {
  if (f.fiber_limit == 0 || f.order() < 2) return;
  const auto& start = f.start.back();
  for (Count k = 0; k < f.fibers(); ++k)
    if (start[k + 1] - start[k] > f.fiber_limit)
      throw input_error("CSF: fiber {} has {} nonzeros, expected at most {}", k,
                        start[k + 1] - start[k], f.fiber_limit);
}

// Whether node k of a level may have the index of its sibling k - 1.
bool may_repeat(const Csf& f, int level, Count k) {
  if (level == f.order() - 1) return true;
  if (level != f.order() - 2 || f.fiber_limit == 0) return false;
  const auto& start = f.start[at(level)];
  return start[k] - start[k - 1] == f.fiber_limit;
}

void check_siblings(const Csf& f, int level) {
  const auto& index = f.index[at(level)];
  const std::vector<Count> roots = {0, index.size()};
  const auto& start = level == 0 ? roots : f.start[at(level - 1)];
  for (Count parent = 0; parent + 1 < start.size(); ++parent)
    for (Count k = start[parent] + 1; k < start[parent + 1]; ++k)
      if (index[k - 1] > index[k] || (index[k - 1] == index[k] && !may_repeat(f, level, k)))
        throw input_error("CSF: node {} of level {} does not ascend from its sibling", k, level);
}

}  // namespace

std::vector<int> levels_below(int root, const Dims& dims) {
  std::vector<int> modes = modes_by_length(dims);
  const auto at_root = std::find(modes.begin(), modes.end(), root);
  std::rotate(modes.begin(), at_root, at_root + 1);
  return modes;
}

Csf to_csf(const Coo& tensor, const CsfOptions& options) {
  Csf f;
  f.dims = tensor.dims;
  f.modes = modes_of(tensor, options.modes);
  f.fiber_limit = options.fiber_limit;
  const std::vector<Count> permutation = sort_permutation(tensor, f.modes);
  Changes change = changes_of(tensor, f.modes, permutation);
  const int order = tensor.order();
  if (order > 1 && f.fiber_limit > 0) cut_fibers(change, order - 2, f.fiber_limit);

  f.index.resize(at(order));
  f.start.resize(at(order - 1));
  const auto indices = [&](int l) -> const std::vector<Index>& {
    return tensor.indices[at(f.modes[at(l)])];
  };
  // start[l] holds positions of nonzeros until the level below is there to count them in.
  for (int l = 0; l + 1 < order; ++l) {
    auto& begin = f.start[at(l)] = node_bounds(change, l);
    if (l > 0) f.start[at(l - 1)] = ranks(f.start[at(l - 1)], begin);
    f.index[at(l)].resize(begin.size() - 1);
    gather(indices(l), f.index[at(l)], [&](Count node) { return permutation[begin[node]]; });
  }
  const auto leaf = [&](Count p) { return permutation[p]; };
  f.index.back().resize(tensor.nnz());
  gather(indices(order - 1), f.index.back(), leaf);
  f.values = values_at(tensor.values, tensor.nnz(), leaf);
  return f;
}

Count Csf::bytes() const {
  Count total = values.bytes();
  for (const auto& level : index) total += level.size() * sizeof(Index);
  for (const auto& level : start) total += level.size() * sizeof(Count);
  return total;
}

std::vector<Index> Csf::ancestors(int level, int below) const {
  const auto& from = index[at(level)];
  if (level == below) return from;
  std::vector<Count> first = start[at(level)];
  for (int l = level + 1; l < below; ++l)
    for (auto& node : first) node = start[at(l)][node];
  std::vector<Index> all(nodes(below));
#pragma omp parallel for schedule(static)
  for (Count k = 0; k < from.size(); ++k)
    for (Count node = first[k]; node < first[k + 1]; ++node) all[node] = from[k];
  return all;
}

Coo Csf::to_coo() const {
  Coo x(dims, values.dtype(), nnz());
  x.values = values;
  for (int l = 0; l < order(); ++l) x.indices[at(modes[at(l)])] = ancestors(l, order() - 1);
  return x;
}

void Csf::check() const {
  check_modes(*this);
  check_lengths(*this);
  check_fibers(*this);
  for (int l = 0; l < order(); ++l) check_siblings(*this, l);
  to_coo().check();
}

}  // namespace retensor
