// The runs of HLSTO's CUDA methods.
#pragma once

#include <memory>

#include "common/method/method.hpp"

namespace retensor::hlsto {

/// The parameter `prepare` says where the format is made.
std::unique_ptr<Prepared> prepare_paper_cuda(const Problem& problem, const Params& params);
std::unique_ptr<Prepared> prepare_half_cuda(const Problem& problem, const Params& params);
std::unique_ptr<Prepared> prepare_tuned_cuda(const Problem& problem, const Params& params);
std::unique_ptr<Prepared> prepare_khatri_rao_cuda(const Problem& problem, const Params& params);
/// The parameter `precision` alone.
std::unique_ptr<Prepared> prepare_fibers_cuda(const Problem& problem, const Params& params);

}  // namespace retensor::hlsto
