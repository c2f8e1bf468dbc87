// The CUDA side of fwc.cuda.
#pragma once

#include <memory>

#include "common/method/method.hpp"

namespace retensor::fwc {

std::unique_ptr<Prepared> prepare_cuda(const Problem& problem);

}  // namespace retensor::fwc
