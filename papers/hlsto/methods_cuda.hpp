// What the CUDA sources of HLSTO offer the methods.
#pragma once

#include <memory>

#include "common/measure/method.hpp"

namespace retensor::hlsto {

/// The most nonzeros of which HLS is made on the device: CUB may count them, and the ends of tiles,
/// in an int.
inline constexpr Count kMostOnDevice = (Count{1} << 31) - 2;

/// The runs of hlsto.cuda and hlsto.cuda.tuned; the parameter `prepare` says where their format is
/// made.
std::unique_ptr<Prepared> prepare_paper_cuda(const Problem& problem, const Params& params);
std::unique_ptr<Prepared> prepare_tuned_cuda(const Problem& problem, const Params& params);

}  // namespace retensor::hlsto
