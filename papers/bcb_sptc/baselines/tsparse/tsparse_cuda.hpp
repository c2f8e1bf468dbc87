// The CUDA side of tsparse.cuda.
#pragma once

#include <memory>

#include "common/measure/method.hpp"

namespace retensor::tsparse {

/// In a build without CUDA it throws LogicError.
std::unique_ptr<Prepared> prepare_cuda(const Problem& problem);

}  // namespace retensor::tsparse
