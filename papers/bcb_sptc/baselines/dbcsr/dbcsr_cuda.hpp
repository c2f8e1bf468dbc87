// The CUDA side of dbcsr.cuda.
#pragma once

#include <memory>

#include "common/method/method.hpp"

namespace retensor::dbcsr {

std::unique_ptr<Prepared> prepare_cuda(const Problem& problem);

}  // namespace retensor::dbcsr
