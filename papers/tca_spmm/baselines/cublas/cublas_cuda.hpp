// The CUDA side of cublas.cuda.
#pragma once

#include <memory>
#include <string>

#include "common/method/method.hpp"

namespace retensor::cublas {

/// Parameters `types` and `dense`.
std::unique_ptr<Prepared> prepare_cuda(const Problem& problem, const Params& params);
/// Why the library could not be loaded; empty when it was.
std::string missing_library();

}  // namespace retensor::cublas
