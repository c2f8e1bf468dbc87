// The CUDA side of the module's methods. In a build without CUDA every function throws LogicError.
#pragma once

#include <memory>

#include "common/measure/method.hpp"
#include "papers/flycoo/format.hpp"

namespace retensor::flycoo {

/// flycoo.cuda: parameters of the format, p, atomics, tag_owners, prepare.
std::unique_ptr<Prepared> prepare_paper_cuda(const Problem& problem, const Params& params);
/// The same on a format at hand; its kappa is the number of thread blocks.
std::unique_ptr<Prepared> prepare_paper_cuda(const Problem& problem, const Params& params,
                                             const Flycoo& tensor);
/// flycoo.cuda.tuned with `remap`, else flycoo.cuda.copies: parameters tile, walkers,
/// with `remap` senders, and prepare.
std::unique_ptr<Prepared> prepare_tuned_cuda(const Problem& problem, const Params& params,
                                             bool remap);

}  // namespace retensor::flycoo
