// The CUDA side of parti.cuda.
#pragma once

#include <memory>

#include "common/method/method.hpp"

namespace retensor::parti {

std::unique_ptr<Prepared> prepare_cuda(const Problem& problem);

}  // namespace retensor::parti
