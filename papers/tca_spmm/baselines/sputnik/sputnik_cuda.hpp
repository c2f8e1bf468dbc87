// The CUDA side of sputnik.cuda.
#pragma once

#include <memory>

#include "common/method/method.hpp"

namespace retensor::sputnik {

/// Parameters `types`, `order` and `walk`.
std::unique_ptr<Prepared> prepare_cuda(const Problem& problem, const Params& params);

}  // namespace retensor::sputnik
