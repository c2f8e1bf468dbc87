// What the CUDA sources of HLSTO offer the methods.
#pragma once

#include <memory>

#include "common/measure/method.hpp"

namespace retensor::hlsto {

/// The runs of hlsto.cuda and hlsto.cuda.tuned; their format is made on the host.
std::unique_ptr<Prepared> prepare_paper_cuda(const Problem& problem, const Params& params);
std::unique_ptr<Prepared> prepare_tuned_cuda(const Problem& problem, const Params& params);

}  // namespace retensor::hlsto
