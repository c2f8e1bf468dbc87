// The methods of HLSTO, one factory each, and the parameters that they share.
#pragma once

#include <memory>
#include <vector>

#include "common/measure/method.hpp"

namespace retensor::hlsto {

std::unique_ptr<Method> make_hlsto_cpu();         ///< hlsto.cpu
std::unique_ptr<Method> make_hlsto_cuda();        ///< hlsto.cuda
std::unique_ptr<Method> make_hlsto_cuda_tuned();  ///< hlsto.cuda.tuned

/// format, threshold (kByModel too where `modelled`), edge, values, precision.
std::vector<ParamSpec> format_params(bool modelled);
/// MTTKRP and TTM-chain of orders 3 to 5 in single precision; a reason for all else.
Support supports_format(const Problem& problem, const Params& params);

}  // namespace retensor::hlsto
