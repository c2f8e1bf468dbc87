// The runs of the CUDA methods.
#pragma once

#include <memory>

#include "common/method/method.hpp"
#include "papers/bcb_sptc/kernels/addend_cpu.hpp"

namespace retensor::bcb_sptc {

/// A run of bcb_sptc.cuda and the addend after it, which stays with the caller.
std::unique_ptr<Prepared> prepare_bcb_cuda(const Problem& problem, const Params& params,
                                           const Addend& addend);
/// A contraction whose result has few cells, see dense_cuda.cuh. Throws OutOfMemory.
std::unique_ptr<Prepared> prepare_dense_cuda(const Problem& problem);
std::unique_ptr<Prepared> prepare_rows_cuda(const Problem& problem);
/// A contraction of tensors in coordinates on the device, whose runs choose, convert and multiply,
/// hence allocate. Throws OutOfMemory.
std::unique_ptr<Prepared> prepare_coo_cuda(const Problem& problem, const Params& params);
std::unique_ptr<Prepared> prepare_streamed_cuda(const Problem& problem, const Params& params);
Prediction predict_streamed_cuda(const Problem& outline, const Params& params);

}  // namespace retensor::bcb_sptc
