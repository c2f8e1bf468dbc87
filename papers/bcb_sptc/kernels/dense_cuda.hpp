// bcb_sptc.cuda.dense.
#pragma once

#include <memory>

#include "common/method/method.hpp"

namespace retensor::bcb_sptc {

/// A contraction whose result has few cells, see dense_cuda.cuh. Throws OutOfMemory.
std::unique_ptr<Prepared> prepare_dense_cuda(const Problem& problem);

}  // namespace retensor::bcb_sptc
