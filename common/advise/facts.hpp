// Shape of a tensor's sparsity, as the papers' tables describe data sets.
#pragma once

#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "common/method/problem.hpp"
#include "common/tensor/coo.hpp"

namespace retensor {

struct ModeFacts {
  Count fibers = 0;         ///< non-empty fibers of the mode
  double per_fiber = 0;     ///< nonzeros per non-empty fiber
  Count slices = 0;         ///< non-empty slices
  Count largest_slice = 0;  ///< nonzeros of the fullest slice
  double slice_gini = 0;    ///< Gini coefficient of nonzeros per slice, empty ones included
};

/// One entry per mode. Holds a key of 8 or 16 bytes per nonzero (32 where the other modes' indices
/// need more than 128 bits), whatever the mode lengths, and sorts them once per mode.
std::vector<ModeFacts> mode_facts(const Coo& tensor);

/// Non-empty tiles of an aligned grid with this edge, a power of two, in every mode.
Count tile_count(const Coo& tensor, Count edge);

/// Gini coefficient of counts and as many zeros more: 0 when all are equal, near 1 when one has
/// everything; 0 for none.
double gini(std::vector<Count> counts, Count zeros = 0);

/// Cells of a dense tensor with these mode lengths.
double cells_in(const Dims& dims);

/// The part of a row's `facts` that the tensor decides (experiments/schema).
nlohmann::json tensor_facts(const Coo& tensor);

/// Bytes of the dense matrices of rank columns that the operation reads (and, of mttkrp and cpd,
/// the one it writes), by the table of Problem; 0 for operations without rank.
Count factor_bytes(const ProblemSpec& problem, const Dims& dims);

}  // namespace retensor
