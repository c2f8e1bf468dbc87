// MTTKRP over all modes on compressed sparse fibers (common/formats/csf.hpp) with vectors of 512
// bits where the processor that runs it has them, a tree for each mode with that mode at its root.
//
// The leaves are of the mode along which the tensor has the fewest fibers. A fiber's nonzeros add
// up a row in registers, which then meets the fiber's other rows once: of a fiber of n nonzeros n +
// N - 2 rows are read, where coordinates read n (N - 1). Threads take fibers of equal cost, a
// nonzero counting one and a fiber kFiberCost; what a share holds of a slice that began before it
// goes to a row of its own, added last.
#pragma once

#include <memory>

#include "common/method/method.hpp"

namespace retensor::pasta {

/// pasta.cpu.fibers; the parameter `threads`.
std::unique_ptr<Prepared> prepare_fibers_cpu(const Problem& problem, const Params& params);

}  // namespace retensor::pasta
