// The run of pasta.cuda.tuned. In a build without CUDA it throws LogicError.
#pragma once

#include <memory>

#include "common/measure/method.hpp"

namespace retensor::pasta {

/// Parameters `order` and `chunk`.
std::unique_ptr<Prepared> prepare_tuned_cuda(const Problem& problem, const Params& params);

}  // namespace retensor::pasta
