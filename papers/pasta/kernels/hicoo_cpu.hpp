// pasta.cpu.hicoo for its method.
#pragma once

#include <memory>

#include "common/method/method.hpp"

namespace retensor::pasta {

/// A run of one of the five kernels. Parameters: threads, update, block.
std::unique_ptr<Prepared> prepare_hicoo_cpu(const Problem& problem, const Params& params);

}  // namespace retensor::pasta
