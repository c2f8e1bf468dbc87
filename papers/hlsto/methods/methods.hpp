// The methods of HLSTO, and what they share.
#pragma once

#include "common/method/method_spec.hpp"

namespace retensor::hlsto {

MethodSpec make_hlsto_cpu(), make_hlsto_cuda(), make_hlsto_cuda_tuned(),
    make_hlsto_cuda_khatri_rao(), make_hlsto_cuda_fibers();
/// With sums in half precision.
MethodSpec make_hlsto_cpu_half(), make_hlsto_cuda_half();

/// format, threshold (kByModel too where `modelled`), edge, values, precision.
ParamSchema format_params(bool modelled);
/// The same as format_params of these, with result: f32 or f16.
ParamSchema half_params(bool modelled);
/// A description with what all methods share: MTTKRP and TTM-chain of tensors of orders 3 to 5 in
/// single precision, tiles whose edge is a power of two, the precision.
MethodSpec tiles_method(MethodSpec own);

}  // namespace retensor::hlsto
