// What the CUDA sources of BCB-SpTC offer the methods.
#pragma once

#include <memory>

#include "common/measure/method.hpp"

namespace retensor::bcb_sptc {

/// The run of bcb_sptc.cuda.
std::unique_ptr<Prepared> prepare_bcb_cuda(const Problem& problem, const Params& params);

}  // namespace retensor::bcb_sptc
