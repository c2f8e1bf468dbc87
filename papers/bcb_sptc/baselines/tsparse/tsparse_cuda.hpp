// The CUDA side of tsparse.cuda.
#pragma once

#include <memory>

#include "common/method/method.hpp"

namespace retensor::tsparse {

std::unique_ptr<Prepared> prepare_cuda(const Problem& problem);

}  // namespace retensor::tsparse
