// The CUDA side of flashsparse.cuda.
#pragma once

#include <memory>

#include "common/method/method.hpp"

namespace retensor::flashsparse {

/// Parameter `types`.
std::unique_ptr<Prepared> prepare_cuda(const Problem& problem, const Params& params);

}  // namespace retensor::flashsparse
