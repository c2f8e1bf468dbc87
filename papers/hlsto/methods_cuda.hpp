// What the CUDA sources of HLSTO offer the methods.
#pragma once

#include <memory>

#include "common/measure/method.hpp"

namespace retensor::hlsto {

/// The most nonzeros of which HLS is made on the device: CUB may count them, and the ends of tiles,
/// in an int.
inline constexpr Count kMostOnDevice = (Count{1} << 31) - 2;

/// The run of hlsto.cuda, whose format is made where the parameter `prepare` says.
std::unique_ptr<Prepared> prepare_paper_cuda(const Problem& problem, const Params& params);
/// The run of hlsto.cuda.tuned; its format is made on the host.
std::unique_ptr<Prepared> prepare_tuned_cuda(const Problem& problem, const Params& params);

}  // namespace retensor::hlsto
