// The run of tca_spmm.cuda.gather.
#pragma once

#include <memory>

#include "common/method/method.hpp"

namespace retensor::tca_spmm {

std::unique_ptr<Prepared> prepare_gather_cuda(const Problem& problem, const Params& params);

}  // namespace retensor::tca_spmm
