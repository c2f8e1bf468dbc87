// The run of bcb_sptc.cuda.streamed.
#pragma once

#include <memory>

#include "common/method/method.hpp"

namespace retensor::bcb_sptc {

std::unique_ptr<Prepared> prepare_streamed_cuda(const Problem& problem, const Params& params);
Prediction predict_streamed_cuda(const Problem& outline, const Params& params);

}  // namespace retensor::bcb_sptc
