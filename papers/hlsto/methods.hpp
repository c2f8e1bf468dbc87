// The methods of HLSTO, one factory each, and the parameters that they share.
#pragma once

#include <memory>
#include <vector>

#include "common/measure/method.hpp"
#include "papers/hlsto/format.hpp"
#include "papers/hlsto/tensor_core.hpp"

namespace retensor::hlsto {

std::unique_ptr<Method> make_hlsto_cpu();         ///< hlsto.cpu
std::unique_ptr<Method> make_hlsto_cuda();        ///< hlsto.cuda
std::unique_ptr<Method> make_hlsto_cuda_tuned();  ///< hlsto.cuda.tuned

/// format, threshold (kByModel too where `modelled`), edge, values, precision.
std::vector<ParamSpec> format_params(bool modelled);
/// MTTKRP and TTM-chain of orders 3 to 5 in single precision; a reason for all else.
Support supports_format(const Problem& problem, const Params& params);
Options format_options(const Problem& problem, const Params& params);
Arithmetic arithmetic_of(const Params& params);
/// What a row tells of a format: threshold, tiles, dense tiles, sparse nonzeros, bits of an index
/// by eq. 11 and 13, bytes by eq. 16 and as stored.
Executed format_facts(const HlsShape& hls);

}  // namespace retensor::hlsto
