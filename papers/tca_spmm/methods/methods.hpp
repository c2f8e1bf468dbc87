// The methods of TCA-SpMM, and what they share.
#pragma once

#include "common/measure/method_spec.hpp"
#include "papers/tca_spmm/format/operands.hpp"

namespace retensor::tca_spmm {

MethodSpec make_tca_spmm_cpu();
MethodSpec make_tca_spmm_cuda();
MethodSpec make_tca_spmm_cuda_tiles();
MethodSpec make_tca_spmm_cuda_tuned();

/// depth, classes, warps, long_rows, packing, dense, output.
ParamSchema kernel_params();
ParamSpec dense_param();
ParamSpec output_param();
/// Sparse times dense matrix in single precision; a reason for all else.
Support supports_kernel(const Problem& problem, const Params& params);
/// fp16 operands, sums in fp32 as tensor cores make them or better.
reference::Precision half_precision(Element output);
/// The same, outputs as the parameter says.
reference::Precision kernel_precision(const Problem& problem, const Params& params);

}  // namespace retensor::tca_spmm
