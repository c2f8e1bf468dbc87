// A tensor of order 4 or more with its modes in two halves, as a dimension tree of depth one: the
// nonzeros by the tuples of a half's indices give partial products, which serve the MTTKRP of each
// of the half's modes (not in the paper).
#pragma once

#include <array>
#include <vector>

#include "common/core/types.hpp"
#include "common/tensor/coo.hpp"

namespace retensor::flycoo {

/// Tuples are numbered in their lexicographical order.
struct Half {
  std::vector<int> modes;  ///< ascending
  /// Modes: the tuple, then those of the other half, ascending. MTTKRP of mode 0 are the partial
  /// products.
  Coo nonzeros;
  /// Modes: those of this half, then the tuple, whose factor are the partial products; values 1.
  Coo tuples;
};

/// The modes of the half that has mode 0: of all halves of two modes or more those whose tuples are
/// fewest, as far as the mode lengths tell. Throws InputError for a tensor of order 3 or less.
std::vector<int> first_half(const Dims& dims, Count nnz);

/// Throws as first_half.
std::array<Half, 2> to_halves(const Coo& tensor);

}  // namespace retensor::flycoo
