// The CUDA side of voltrix.cuda.
#pragma once

#include <memory>

#include "common/method/method.hpp"

namespace retensor::voltrix {

/// Parameter `types`.
std::unique_ptr<Prepared> prepare_cuda(const Problem& problem, const Params& params);

}  // namespace retensor::voltrix
