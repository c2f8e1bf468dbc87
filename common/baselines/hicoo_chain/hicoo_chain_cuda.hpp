// The CUDA side of hicoo_chain.cuda.
#pragma once

#include <memory>

#include "common/method/method.hpp"

namespace retensor::hicoo_chain {

/// Parameter `block_bits`.
std::unique_ptr<Prepared> prepare_cuda(const Problem& problem, const Params& params);

}  // namespace retensor::hicoo_chain
