// The methods of TCA-SpMM, and what they share.
#pragma once

#include "common/method/method_spec.hpp"
#include "papers/tca_spmm/format/operands.hpp"

namespace retensor::tca_spmm {

MethodSpec make_tca_spmm_cpu(), make_tca_spmm_cuda(), make_tca_spmm_cuda_tiles(),
    make_tca_spmm_cuda_tuned(), make_tca_spmm_cuda_gather();

/// depth, classes, warps, long_rows, packing, dense, output.
ParamSchema kernel_params();
ParamSpec dense_param();
ParamSpec output_param();
/// Of the kernels with these parameters.
Support supports_kernel(const Problem& problem, const Params& params);
/// A description with what all methods share: sparse times dense matrix in single precision,
/// outputs of the type that the parameter says.
MethodSpec kernel_method(MethodSpec own);
/// Whether a grid has a thread block in its second dimension for every `columns` of D.
Support supports_grid(const Problem& problem, Count columns);
/// fp16 operands, sums in fp32 as tensor cores make them or better.
reference::Precision half_precision(Element output);

}  // namespace retensor::tca_spmm
