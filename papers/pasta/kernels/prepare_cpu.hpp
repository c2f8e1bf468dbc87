// The runs of the CPU methods, but for packed_cpu.hpp.
#pragma once

#include <memory>

#include "common/method/method.hpp"

namespace retensor::pasta {

/// Parameters `threads` and `update`; of HiCOO also `block`, the block edge B.
std::unique_ptr<Prepared> prepare_coo_cpu(const Problem& problem, const Params& params);
std::unique_ptr<Prepared> prepare_hicoo_cpu(const Problem& problem, const Params& params);
/// Parameters `threads`, `format` (coo or hicoo) and `block`.
std::unique_ptr<Prepared> prepare_plain_cpu(const Problem& problem, const Params& params);
/// Parameter `threads`.
std::unique_ptr<Prepared> prepare_copies_cpu(const Problem& problem, const Params& params);
std::unique_ptr<Prepared> prepare_fibers_cpu(const Problem& problem, const Params& params);

}  // namespace retensor::pasta
