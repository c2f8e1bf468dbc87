// Shape of a tensor's sparsity, as the papers' tables describe data sets.
#pragma once

#include <vector>

#include "common/tensor/coo.hpp"

namespace retensor::driver {

struct ModeFacts {
  Count fibers = 0;         ///< non-empty fibers of the mode
  double per_fiber = 0;     ///< nonzeros per non-empty fiber
  Count slices = 0;         ///< non-empty slices
  Count largest_slice = 0;  ///< nonzeros of the fullest slice
  double slice_gini = 0;    ///< Gini coefficient of nonzeros per slice, empty ones included
};

/// One entry per mode; sorts a copy of the tensor once per mode.
std::vector<ModeFacts> mode_facts(const Coo& tensor);

/// Gini coefficient of counts: 0 when all are equal, near 1 when one has everything; 0 for none.
double gini(std::vector<Count> counts);

}  // namespace retensor::driver
