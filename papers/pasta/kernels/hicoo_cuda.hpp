// The run of pasta.cuda.hicoo.
#pragma once

#include <memory>

#include "common/method/method.hpp"

namespace retensor::pasta {

/// Parameter `block`: the block edge B.
std::unique_ptr<Prepared> prepare_hicoo_cuda(const Problem& problem, const Params& params);

}  // namespace retensor::pasta
