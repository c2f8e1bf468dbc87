// The run of hlsto.cuda.tuned.
#pragma once

#include <memory>

#include "common/method/method.hpp"

namespace retensor::hlsto {

/// The parameter `prepare` says where the format is made.
std::unique_ptr<Prepared> prepare_tuned_cuda(const Problem& problem, const Params& params);

}  // namespace retensor::hlsto
