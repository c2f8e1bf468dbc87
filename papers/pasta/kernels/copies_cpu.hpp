// MTTKRP over all modes on packed rows (kernels/packed_cpu.hpp), a copy of the nonzeros for each
// mode.
#pragma once

#include <memory>

#include "common/method/method.hpp"

namespace retensor::pasta {

/// pasta.cpu.copies; the parameter `threads`.
std::unique_ptr<Prepared> prepare_copies_cpu(const Problem& problem, const Params& params);

}  // namespace retensor::pasta
