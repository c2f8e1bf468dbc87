// The runs of the CUDA methods.
#pragma once

#include <memory>
#include <string>

#include "common/method/method.hpp"

namespace retensor::tca_spmm {

std::unique_ptr<Prepared> prepare_paper_cuda(const Problem& problem, const Params& params);
std::unique_ptr<Prepared> prepare_gather_cuda(const Problem& problem, const Params& params);
std::unique_ptr<Prepared> prepare_tuned_cuda(const Problem& problem, const Params& params);
/// Why the device cannot run it; empty where it can.
std::string panels_obstacle();
std::unique_ptr<Prepared> prepare_tiles_cuda(const Problem& problem, const Params& params);
/// Why the device cannot run it; empty where it can.
std::string tiles_obstacle();

}  // namespace retensor::tca_spmm
