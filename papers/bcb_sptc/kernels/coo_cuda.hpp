// bcb_sptc.cuda.coo.
#pragma once

#include <memory>

#include "common/method/method.hpp"

namespace retensor::bcb_sptc {

/// A contraction of tensors in coordinates on the device, whose runs choose, convert and multiply,
/// hence allocate. Throws OutOfMemory.
std::unique_ptr<Prepared> prepare_coo_cuda(const Problem& problem, const Params& params);

}  // namespace retensor::bcb_sptc
