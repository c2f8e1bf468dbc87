// The run of flycoo.cuda.chunks.
#pragma once

#include <memory>

#include "common/method/method.hpp"

namespace retensor::flycoo {

/// Of single precision; parameter chunk.
std::unique_ptr<Prepared> prepare_chunks_cuda(const Problem& problem, const Params& params);

}  // namespace retensor::flycoo
