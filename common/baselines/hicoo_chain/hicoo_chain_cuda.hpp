// The CUDA side of hicoo_chain.cuda.
#pragma once

#include <memory>

#include "common/measure/method.hpp"

namespace retensor::hicoo_chain {

/// Parameter `block_bits`. In a build without CUDA it throws LogicError.
std::unique_ptr<Prepared> prepare_cuda(const Problem& problem, const Params& params);

}  // namespace retensor::hicoo_chain
