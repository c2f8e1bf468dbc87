// What the methods on the device need of their CUDA side.
#pragma once

#include <memory>

#include "common/measure/method.hpp"

namespace retensor::pasta {

/// The kernels as the paper describes them, or with the accesses that the hardware favours.
enum class Family { paper, tuned };

/// A run of the problem's operation on the device; `chunk` is the number of consecutive nonzeros
/// that one lane group of the tuned MTTKRP reduces. In a build without CUDA it throws LogicError.
std::unique_ptr<Prepared> prepare_coo_cuda(const Problem& problem, Family family, unsigned chunk);

}  // namespace retensor::pasta
