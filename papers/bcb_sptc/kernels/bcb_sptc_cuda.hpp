// The run of bcb_sptc.cuda.
#pragma once

#include <memory>

#include "common/method/method.hpp"
#include "papers/bcb_sptc/kernels/addend_cpu.hpp"

namespace retensor::bcb_sptc {

/// A run of bcb_sptc.cuda and the addend after it, which stays with the caller.
std::unique_ptr<Prepared> prepare_bcb_cuda(const Problem& problem, const Params& params,
                                           const Addend& addend);

}  // namespace retensor::bcb_sptc
