// The runs of the CUDA methods.
#pragma once

#include <memory>

#include "common/method/method.hpp"

namespace retensor::pasta {

std::unique_ptr<Prepared> prepare_coo_cuda(const Problem& problem, const Params& params);
/// Parameter `block`: the block edge B.
std::unique_ptr<Prepared> prepare_hicoo_cuda(const Problem& problem, const Params& params);
/// Parameters `order` and `chunk`.
std::unique_ptr<Prepared> prepare_tuned_cuda(const Problem& problem, const Params& params);
/// Parameters `buffer`, `file` and `alone`. Throws InputError for a file that holds another tensor.
std::unique_ptr<Prepared> prepare_streamed_cuda(const Problem& problem, const Params& params);
/// Of a tensor in memory, from a few parts that are measured: of the nonzeros that the outline has,
/// else of random ones.
Prediction predict_streamed_cuda(const Problem& outline, const Params& params);

/// Shared memory that a thread block of every architecture since sm_80 has, for the factor.
inline constexpr Count kTableBytes = 96 << 10;

/// Parameter `ahead`.
std::unique_ptr<Prepared> prepare_sliced_cuda(const Problem& problem, const Params& params);

}  // namespace retensor::pasta
