// The CUDA side of hash_spgemm.cuda.
#pragma once

#include <memory>

#include "common/method/method.hpp"

namespace retensor::hash_spgemm {

std::unique_ptr<Prepared> prepare_cuda(const Problem& problem);

}  // namespace retensor::hash_spgemm
