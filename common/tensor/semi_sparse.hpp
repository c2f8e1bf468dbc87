// Semi-sparse COO (sCOO): some modes dense, the rest coordinates (PASTA section III.A, Fig. 1b).
#pragma once

#include <vector>

#include "common/core/types.hpp"
#include "common/tensor/coo.hpp"
#include "common/tensor/values.hpp"

namespace retensor {

/// `fibers()` coordinates over the sparse modes; each carries a dense block over the dense modes,
/// row-major with the highest dense mode varying fastest.
struct SemiSparseCoo {
  Dims dims;                     ///< lengths of all modes
  std::vector<int> dense_modes;  ///< ascending
  std::vector<std::vector<Index>>
      indices;    ///< indices[s][f]: the s-th sparse mode, ascending modes
  Values values;  ///< fibers() * dense_volume()

  int order() const { return static_cast<int>(dims.size()); }
  std::vector<int> sparse_modes() const;
  std::uint64_t dense_volume() const;
  Count fibers() const { return indices.empty() ? 1 : indices.front().size(); }
  /// Stored elements, explicit zeros inside dense blocks included.
  Count nnz() const { return values.size(); }
  Count bytes() const;
  /// All stored elements as coordinates, explicit zeros included, in storage order.
  Coo to_coo() const;
  /// Throws InputError naming the first violated invariant: dense modes ascending, array lengths,
  /// indices in range, values finite.
  void check() const;
};

/// Groups nonzeros by their sparse coordinates; absent elements of a dense block become zeros.
SemiSparseCoo to_semi_sparse(const Coo& tensor, const std::vector<int>& dense_modes);

}  // namespace retensor
