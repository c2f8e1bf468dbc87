// Nonzeros of a problem of which only the outline is known.
#pragma once

#include <memory>

#include "common/tensor/coo.hpp"

namespace retensor {

/// The first `sample` of the nonzeros of an outline that has them; else as many of `nnz` that lie
/// in the order of mode 0, as most files have them, their other indices uniform. Values are zero.
std::shared_ptr<const Coo> outline_sample(const Coo& x, Count sample, Count nnz);

}  // namespace retensor
