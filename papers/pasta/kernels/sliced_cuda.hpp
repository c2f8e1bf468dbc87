// The run of pasta.cuda.sliced.
#pragma once

#include <memory>

#include "common/method/method.hpp"

namespace retensor::pasta {

/// Shared memory that a thread block of every architecture since sm_80 has, for the factor.
inline constexpr Count kTableBytes = 96 << 10;

/// Parameter `ahead`.
std::unique_ptr<Prepared> prepare_sliced_cuda(const Problem& problem, const Params& params);

}  // namespace retensor::pasta
