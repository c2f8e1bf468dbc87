// What the methods on the device need of their CUDA side. In a build without CUDA these throw
// LogicError.
#pragma once

#include <memory>

#include "common/measure/method.hpp"

namespace retensor::pasta {

std::unique_ptr<Prepared> prepare_coo_cuda(const Problem& problem, const Params& params);
/// Parameter `block`: the block edge B.
std::unique_ptr<Prepared> prepare_hicoo_cuda(const Problem& problem, const Params& params);
/// Parameters `order` and `chunk`.
std::unique_ptr<Prepared> prepare_tuned_cuda(const Problem& problem, const Params& params);

}  // namespace retensor::pasta
