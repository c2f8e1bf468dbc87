// The CUDA side of gsptc.cuda.
#pragma once

#include <memory>

#include "common/method/method.hpp"

namespace retensor::gsptc {

std::unique_ptr<Prepared> prepare_cuda(const Problem& problem);

}  // namespace retensor::gsptc
