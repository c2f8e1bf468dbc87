// The methods of HLSTO, and what they share.
#pragma once

#include <memory>

#include "common/measure/method_spec.hpp"

namespace retensor::hlsto {

MethodSpec make_hlsto_cpu();
std::unique_ptr<Method> make_hlsto_cuda();
std::unique_ptr<Method> make_hlsto_cuda_tuned();

/// format, threshold (kByModel too where `modelled`), edge, values, precision.
ParamSchema format_params(bool modelled);
/// Orders 3 to 5 in single precision; a reason for all else.
Support supports_format(const Problem& problem, const Params& params);
reference::Precision format_precision(const Problem& problem, const Params& params);

}  // namespace retensor::hlsto
