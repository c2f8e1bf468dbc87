// The CUDA side of f_coo.cuda.
#pragma once

#include <memory>

#include "common/method/method.hpp"

namespace retensor::f_coo {

/// Nonzeros that a group of lanes reads at once: a part has a multiple of them.
inline constexpr std::int64_t kQuad = 4;

/// Parameter `part_length`.
std::unique_ptr<Prepared> prepare_cuda(const Problem& problem, const Params& params);

}  // namespace retensor::f_coo
