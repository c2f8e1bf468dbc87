// The run of tca_spmm.cuda.tuned.
#pragma once

#include <memory>
#include <string>

#include "common/method/method.hpp"

namespace retensor::tca_spmm {

std::unique_ptr<Prepared> prepare_tuned_cuda(const Problem& problem, const Params& params);
/// Why the device cannot run it; empty where it can.
std::string panels_obstacle();

}  // namespace retensor::tca_spmm
