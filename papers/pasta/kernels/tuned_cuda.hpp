// The run of pasta.cuda.tuned.
#pragma once

#include <memory>

#include "common/method/method.hpp"

namespace retensor::pasta {

/// Parameters `order` and `chunk`.
std::unique_ptr<Prepared> prepare_tuned_cuda(const Problem& problem, const Params& params);

}  // namespace retensor::pasta
