// The runs of flycoo.cuda and flycoo.cuda.chunks.
#pragma once

#include <memory>

#include "common/method/method.hpp"
#include "papers/flycoo/format/flycoo.hpp"

namespace retensor::flycoo {

/// flycoo.cuda: parameters of the format, p, atomics, tag_owners, prepare.
std::unique_ptr<Prepared> prepare_paper_cuda(const Problem& problem, const Params& params);
/// The same on a format at hand; its kappa is the number of thread blocks.
std::unique_ptr<Prepared> prepare_with_tensor(const Problem& problem, const Params& params,
                                              const Flycoo& tensor);

/// flycoo.cuda.chunks, in single precision: parameter chunk.
std::unique_ptr<Prepared> prepare_chunks_cuda(const Problem& problem, const Params& params);

}  // namespace retensor::flycoo
