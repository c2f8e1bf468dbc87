// The methods of TCA-SpMM, one factory each, and what they share.
#pragma once

#include <memory>
#include <vector>

#include "common/measure/method.hpp"
#include "papers/tca_spmm/format/operands.hpp"

namespace retensor::tca_spmm {

std::unique_ptr<Method> make_tca_spmm_cpu();         ///< tca_spmm.cpu
std::unique_ptr<Method> make_tca_spmm_cuda();        ///< tca_spmm.cuda
std::unique_ptr<Method> make_tca_spmm_cuda_tiles();  ///< tca_spmm.cuda.tiles
std::unique_ptr<Method> make_tca_spmm_cuda_tuned();  ///< tca_spmm.cuda.tuned

/// depth, classes, warps, long_rows, packing, dense, output.
std::vector<ParamSpec> kernel_params();
/// Sparse times dense matrix in single precision; a reason for all else.
Support supports_kernel(const Problem& problem, const Params& params);
/// fp16 operands, sums in fp32 as tensor cores make them or better.
reference::Precision half_precision(Element output);
/// The same, outputs as the parameter says.
reference::Precision kernel_precision(const Params& params);

}  // namespace retensor::tca_spmm
