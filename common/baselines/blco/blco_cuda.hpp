// The CUDA side of blco.cuda.
#pragma once

#include <memory>

#include "common/method/method.hpp"

namespace retensor::blco {

/// Modes up to this length are added up in shared memory first.
inline constexpr std::uint64_t kShortMode = 100;

/// Parameter `copies`.
std::unique_ptr<Prepared> prepare_cuda(const Problem& problem, const Params& params);

}  // namespace retensor::blco
