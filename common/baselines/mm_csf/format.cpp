// COO <-> MM-CSF; see format.hpp.
#include "common/baselines/mm_csf/format.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <span>

#include "common/core/error.hpp"
#include "common/tensor/operations.hpp"

namespace retensor::mm_csf {
namespace {

using Trees = std::vector<std::uint8_t>;  // of each nonzero

// Where the fibers of sorted nonzeros begin, and their end; `modes` are all but the fibers' own.
std::vector<Count> fiber_bounds(const Coo& x, std::span<const int> modes,
                                const std::vector<Count>& permutation) {
  std::vector<std::uint8_t> begins(permutation.size(), 1);
#pragma omp parallel for schedule(static)
  for (Count p = 1; p < begins.size(); ++p)
    begins[p] = std::any_of(modes.begin(), modes.end(), [&](int m) {
      const auto& index = x.indices[static_cast<std::size_t>(m)];
      return index[permutation[p - 1]] != index[permutation[p]];
    });
  std::vector<Count> bounds;
  for (Count p = 0; p < begins.size(); ++p)
    if (begins[p] != 0) bounds.push_back(p);
  bounds.push_back(begins.size());
  return bounds;
}

// The tree of each nonzero. Trees are tried in turn and only a longer fiber takes a nonzero from an
// earlier one, whose root is shorter.
Trees trees_of(const Coo& x) {
  const auto modes = tree_modes(x.dims);
  Trees tree(x.nnz(), 0);
  std::vector<Count> longest(x.nnz(), 0);
  for (std::size_t k = 0; k < modes.size(); ++k) {
    const auto upper = std::span(modes[k]).first(modes[k].size() - 1);
    const std::vector<Count> permutation = sort_permutation(x, upper);
    const std::vector<Count> bound = fiber_bounds(x, upper, permutation);
#pragma omp parallel for schedule(static)
    for (Count f = 0; f < bound.size() - 1; ++f)
      for (Count p = bound[f]; p < bound[f + 1]; ++p) {
        const Count nonzero = permutation[p], length = bound[f + 1] - bound[f];
        if (length <= longest[nonzero]) continue;
        longest[nonzero] = length;
        tree[nonzero] = static_cast<std::uint8_t>(k);
      }
  }
  return tree;
}

Coo selection(const Coo& x, const Trees& tree, std::size_t k) {
  std::vector<Count> chosen;
  for (Count p = 0; p < tree.size(); ++p)
    if (tree[p] == k) chosen.push_back(p);
  Coo part(x.dims, x.dtype(), chosen.size());
  for (std::size_t m = 0; m < x.dims.size(); ++m)
    for (Count p = 0; p < chosen.size(); ++p) part.indices[m][p] = x.indices[m][chosen[p]];
  part.values.visit([&]<class T>(Array<T>& v) {
    const auto from = x.values.as<T>();
    for (Count p = 0; p < chosen.size(); ++p) v[p] = from[chosen[p]];
  });
  return part;
}

void append(Coo& all, const Coo& part) {
  for (std::size_t m = 0; m < all.dims.size(); ++m)
    all.indices[m].insert(all.indices[m].end(), part.indices[m].begin(), part.indices[m].end());
  all.values.visit([&]<class T>(Array<T>& v) {
    const auto more = part.values.as<T>();
    v.insert(v.end(), more.begin(), more.end());
  });
}

// Checks one tree and returns its number among tree_modes; those before `next` are taken.
std::size_t check_tree(const MmCsf& f, const Csf& tree, std::size_t next) {
  tree.check();
  if (tree.dims != f.dims || tree.values.dtype() != f.dtype)
    throw InputError("mode lengths or type of the values differ from the tensor's");
  if (tree.nnz() == 0) throw InputError("no nonzeros");
  const auto modes = tree_modes(f.dims);
  for (std::size_t k = next; k < modes.size(); ++k)
    if (modes[k] == tree.modes) return k;
  throw InputError("levels are not those of a further tree");
}

// The number of the tree of each nonzero, as stored.
Trees check_trees(const MmCsf& f) {
  Trees stored;
  std::size_t next = 0;
  for (std::size_t t = 0; t < f.trees.size(); ++t) {
    try {
      next = check_tree(f, f.trees[t], next) + 1;
    } catch (InputError& e) {
      e.add_context(fmt::format("MM-CSF: tree {}", t));
      throw;
    }
    stored.insert(stored.end(), f.trees[t].nnz(), static_cast<std::uint8_t>(next - 1));
  }
  return stored;
}

}  // namespace

std::vector<std::vector<int>> tree_modes(const Dims& dims) {
  std::vector<int> cycle = natural_order(static_cast<int>(dims.size()));
  std::stable_sort(cycle.begin(), cycle.end(), [&](int a, int b) {
    return dims[static_cast<std::size_t>(a)] < dims[static_cast<std::size_t>(b)];
  });
  std::vector<std::vector<int>> modes;
  for (std::size_t k = 0; k < dims.size(); ++k) {
    modes.push_back(cycle);
    std::rotate(cycle.begin(), cycle.begin() + 1, cycle.end());
  }
  return modes;
}

MmCsf to_mm_csf(const Coo& tensor, Count fiber_limit) {
  if (tensor.order() < 2)
    throw InputError(fmt::format("MM-CSF: found order {}, expected at least 2", tensor.order()));
  MmCsf f{tensor.dims, tensor.dtype(), {}};
  const auto modes = tree_modes(f.dims);
  const Trees tree = trees_of(tensor);
  for (std::size_t k = 0; k < modes.size(); ++k) {
    const Coo part = selection(tensor, tree, k);
    if (part.nnz() > 0) f.trees.push_back(to_csf(part, {modes[k], fiber_limit}));
  }
  return f;
}

Count MmCsf::nnz() const {
  Count total = 0;
  for (const auto& tree : trees) total += tree.nnz();
  return total;
}

Count MmCsf::bytes() const {
  Count total = 0;
  for (const auto& tree : trees) total += tree.bytes();
  return total;
}

Coo MmCsf::to_coo() const {
  Coo x(dims, dtype);
  for (const auto& tree : trees) append(x, tree.to_coo());
  return x;
}

void MmCsf::check() const {
  const Trees stored = check_trees(*this);
  const Coo x = to_coo();
  const Trees expected = trees_of(x);
  for (Count p = 0; p < stored.size(); ++p)
    if (stored[p] != expected[p])
      throw InputError(fmt::format("MM-CSF: nonzero {} is in tree {}, its longest fiber in tree {}",
                                   coordinate_text(x, p), stored[p], expected[p]));
}

}  // namespace retensor::mm_csf
