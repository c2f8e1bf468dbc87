// The CUDA side of sputnik.cuda.
#pragma once

#include <memory>

#include "common/measure/method.hpp"

namespace retensor::sputnik {

/// Parameters `types`, `order` and `walk`. In a build without CUDA it throws LogicError.
std::unique_ptr<Prepared> prepare_cuda(const Problem& problem, const Params& params);

}  // namespace retensor::sputnik
