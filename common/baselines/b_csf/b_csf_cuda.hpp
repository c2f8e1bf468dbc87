// The CUDA side of b_csf.cuda.
#pragma once

#include <memory>

#include "common/method/method.hpp"

namespace retensor::b_csf {

/// Parameters `fiber_limit` and `warp_nonzeros`.
std::unique_ptr<Prepared> prepare_cuda(const Problem& problem, const Params& params);

}  // namespace retensor::b_csf
