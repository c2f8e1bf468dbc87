// The CUDA side of mm_csf.cuda.
#pragma once

#include <memory>

#include "common/method/method.hpp"

namespace retensor::mm_csf {

/// Whether nonzeros can be sorted by coordinate and position.
Support supports_keys(const Problem& problem, const Params& params);

/// Parameter `fiber_limit`.
std::unique_ptr<Prepared> prepare_cuda(const Problem& problem, const Params& params);

}  // namespace retensor::mm_csf
