// Compressed sparse fibers (Smith and Karypis, "Tensor-matrix products with a compressed sparse
// tensor", IA3 2015), with fibers cut as B-CSF does (Nisa et al., IPDPS 2019).
#pragma once

#include <vector>

#include "common/core/types.hpp"
#include "common/tensor/coo.hpp"

namespace retensor {

/// A tree with a level per mode. Nodes of level 0 are slices, those of level order - 2 fibers,
/// those of the last level nonzeros; children of a node lie side by side in the next level, by
/// ascending index. Equal coordinates stay leaves of their own.
struct Csf {
  Dims dims;
  std::vector<int> modes;                 ///< mode of each level, the root's first
  Count fiber_limit = 0;                  ///< most nonzeros of a fiber, 0: any number
  std::vector<std::vector<Index>> index;  ///< [level][node]
  std::vector<std::vector<Count>> start;  ///< [level][node]: first child; nodes + 1 entries a level
  Values values;                          ///< of the leaves

  int order() const { return static_cast<int>(dims.size()); }
  Count nnz() const { return values.size(); }
  Count nodes(int level) const { return index[static_cast<std::size_t>(level)].size(); }
  /// Nodes of level order - 2, pieces of a cut fiber counted one by one; 0 at order 1.
  Count fibers() const { return order() < 2 ? 0 : nodes(order() - 2); }
  /// 4 bytes an index, 8 a start, and the values.
  Count bytes() const;
  /// For each node of level `below`, the index of its ancestor in `level` (itself where they
  /// agree).
  std::vector<Index> ancestors(int level, int below) const;
  /// Nonzeros in the order of the leaves.
  Coo to_coo() const;
  /// Throws InputError naming the first violated invariant: modes listed once each, array lengths,
  /// no node without children, fibers within the limit, siblings in ascending order (equal ones
  /// alone as leaves, or as pieces of a cut fiber), indices in range, values finite.
  void check() const;
};

/// Nonzeros at which B-CSF and MM-CSF cut a fiber, the originals' threshold.
inline constexpr Count kFiberLimit = 128;

struct CsfOptions {
  std::vector<int> modes;  ///< the root's first; empty: natural order
  Count fiber_limit = 0;   ///< longer fibers are cut into nodes of this length, 0: never
};

/// Levels of a tree per output mode: the output's mode at the root, the others by ascending length.
std::vector<int> levels_below(int root, const Dims& dims);

/// Nonzeros with equal coordinates keep their order. A tensor of order 1 has leaves alone and no
/// fibers to cut. Throws InputError unless `modes` lists every mode once.
Csf to_csf(const Coo& tensor, const CsfOptions& options = {});

}  // namespace retensor
