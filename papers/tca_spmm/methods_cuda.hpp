// What the CUDA sources of TCA-SpMM offer the methods.
#pragma once

#include <memory>
#include <string>

#include "common/measure/method.hpp"

namespace retensor::tca_spmm {

/// The runs of tca_spmm.cuda, tca_spmm.cuda.tiles and tca_spmm.cuda.tuned. In a build without CUDA
/// they throw LogicError.
std::unique_ptr<Prepared> prepare_paper_cuda(const Problem& problem, const Params& params);
std::unique_ptr<Prepared> prepare_tiles_cuda(const Problem& problem, const Params& params);
std::unique_ptr<Prepared> prepare_tuned_cuda(const Problem& problem, const Params& params);
/// Why the device cannot run tca_spmm.cuda.tiles; empty where it can.
std::string tiles_obstacle();
/// The same of tca_spmm.cuda.tuned.
std::string panels_obstacle();

}  // namespace retensor::tca_spmm
