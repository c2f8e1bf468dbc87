// The run of pasta.cuda.coo.
#pragma once

#include <memory>

#include "common/method/method.hpp"

namespace retensor::pasta {

std::unique_ptr<Prepared> prepare_coo_cuda(const Problem& problem, const Params& params);

}  // namespace retensor::pasta
