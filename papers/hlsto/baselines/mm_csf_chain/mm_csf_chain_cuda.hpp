// The CUDA side of mm_csf_chain.cuda.
#pragma once

#include <memory>

#include "common/method/method.hpp"

namespace retensor::mm_csf_chain {

/// Parameter `fiber_limit`.
std::unique_ptr<Prepared> prepare_cuda(const Problem& problem, const Params& params);

}  // namespace retensor::mm_csf_chain
