// COO <-> MM-CSF; see format.hpp.
#include "common/baselines/mm_csf/format.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <span>

#include "common/core/message.hpp"
#include "common/tensor/keys.hpp"
#include "common/tensor/operations.hpp"
#include "common/tensor/positions.hpp"

namespace retensor::mm_csf {
namespace {

using Trees = std::vector<std::uint8_t>;  // of each nonzero

// Calls visit(nonzero, length of its fiber) for every nonzero, in parallel. Nonzeros are sorted by
// fiber as numbers: the coordinate over the modes above the leaves with the nonzero's position
// below it. `keys` is room for as many.
template <class Key, class Visit>
void for_each_of_fibers(const Coo& x, std::span<const int> modes, std::vector<Key>& keys,
                        const Visit& visit) {
  const int position_bits = bits_for(x.nnz());
#pragma omp parallel for schedule(static)
  for (Count p = 0; p < keys.size(); ++p) {
    Key key = 0;
    for (const int m : modes) {
      const auto at = static_cast<std::size_t>(m);
      key = key << bits_for(x.dims[at]) | x.indices[at][p];
    }
    keys[p] = key << position_bits | p;
  }
  sort_keys(keys);
  const auto fiber = [&](Count p) { return keys[p] >> position_bits; };
  const Key position = (Key{1} << position_bits) - 1;
#pragma omp parallel for schedule(static)
  for (Count p = 0; p < keys.size(); ++p) {
    if (p > 0 && fiber(p - 1) == fiber(p)) continue;
    Count end = p + 1;
    while (end < keys.size() && fiber(end) == fiber(p)) ++end;
    for (Count q = p; q < end; ++q) visit(static_cast<Count>(keys[q] & position), end - p);
  }
}

// Trees are tried in turn and only a longer fiber takes a nonzero from an earlier one, whose root
// is shorter.
template <class Key>
Trees trees_by_keys(const Coo& x) {
  const auto modes = tree_modes(x.dims);
  Trees tree(x.nnz(), 0);
  std::vector<Count> longest(x.nnz(), 0);
  std::vector<Key> keys(x.nnz());
  for (std::size_t k = 0; k < modes.size(); ++k) {
    const auto above_leaves = std::span(modes[k]).first(modes[k].size() - 1);
    for_each_of_fibers(x, above_leaves, keys, [&](Count nonzero, Count length) {
      if (length <= longest[nonzero]) return;
      longest[nonzero] = length;
      tree[nonzero] = static_cast<std::uint8_t>(k);
    });
  }
  return tree;
}

Trees trees_of(const Coo& x) {
  const int bits = key_bits(x);
  if (bits > 128) throw input_error("MM-CSF: found keys of {} bits, expected at most 128", bits);
  return bits <= 64 ? trees_by_keys<std::uint64_t>(x) : trees_by_keys<Uint128>(x);
}

Coo selection(const Coo& x, const Trees& tree, std::size_t k) {
  const auto chosen = positions_where(tree.size(), [&](Count p) { return tree[p] == k; });
  const auto from = [&](Count p) { return chosen[p]; };
  Coo part(x.dims, x.dtype(), chosen.size());
  for (std::size_t m = 0; m < x.dims.size(); ++m) gather(x.indices[m], part.indices[m], from);
  part.values = values_at(x.values, chosen.size(), from);
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
    throw input_error("mode lengths or type of the values differ from the tensor's");
  if (tree.nnz() == 0) throw input_error("no nonzeros");
  const auto modes = tree_modes(f.dims);
  for (std::size_t k = next; k < modes.size(); ++k)
    if (modes[k] == tree.modes) return k;
  throw input_error("levels are not those of a further tree");
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
  std::vector<int> cycle = modes_by_length(dims);
  std::vector<std::vector<int>> modes;
  for (std::size_t k = 0; k < dims.size(); ++k) {
    modes.push_back(cycle);
    std::rotate(cycle.begin(), cycle.begin() + 1, cycle.end());
  }
  return modes;
}

int key_bits(const Coo& tensor) {
  int coordinate = 0, least = 32;
  for (const auto length : tensor.dims) {
    coordinate += bits_for(length);
    least = std::min(least, bits_for(length));
  }
  return coordinate - least + bits_for(tensor.nnz());
}

Support supports_keys(const Problem& problem, const Params&) {
  if (key_bits(problem.x()) <= 128) return Support::yes();
  return Support::no(
      "the coordinate and the position of a nonzero need more than 128 bits together");
}

MmCsf to_mm_csf(const Coo& tensor, Count fiber_limit) {
  if (tensor.order() < 2)
    throw input_error("MM-CSF: found order {}, expected at least 2", tensor.order());
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
      throw input_error("MM-CSF: nonzero {} is in tree {}, its longest fiber in tree {}",
                        coordinate_text(x, p), stored[p], expected[p]);
}

}  // namespace retensor::mm_csf
