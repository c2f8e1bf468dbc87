// The run of tca_spmm.cuda.
#pragma once

#include <memory>

#include "common/method/method.hpp"

namespace retensor::tca_spmm {

std::unique_ptr<Prepared> prepare_paper_cuda(const Problem& problem, const Params& params);

}  // namespace retensor::tca_spmm
