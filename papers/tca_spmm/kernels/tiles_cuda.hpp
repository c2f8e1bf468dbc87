// The run of tca_spmm.cuda.tiles.
#pragma once

#include <memory>
#include <string>

#include "common/method/method.hpp"

namespace retensor::tca_spmm {

std::unique_ptr<Prepared> prepare_tiles_cuda(const Problem& problem, const Params& params);
/// Why the device cannot run it; empty where it can.
std::string tiles_obstacle();

}  // namespace retensor::tca_spmm
