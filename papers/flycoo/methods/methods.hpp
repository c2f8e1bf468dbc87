// The methods of FLYCOO, and what they share.
#pragma once

#include <string>

#include "common/device/device.hpp"
#include "common/method/method_spec.hpp"
#include "papers/flycoo/kernels/tuned_cuda.hpp"

namespace retensor::flycoo {

MethodSpec make_flycoo_cpu(), make_flycoo_cuda(), make_flycoo_cuda_tuned(),
    make_flycoo_cuda_copies(), make_flycoo_cuda_wide(), make_flycoo_cuda_memoised(),
    make_flycoo_cuda_chunks();

/// kappa (0: the number of `processors`, a word for the help), partition, order, indices, ids,
/// align, remap.
ParamSchema format_params(const std::string& processors);
/// Whether records can be aligned so.
Support supports_format(const Problem& problem, const Params& params);
/// Whether a device with these limits has room for such a block of flycoo.cuda.tuned, or without
/// `remap` of flycoo.cuda.copies.
Support supports_block(const tuned::Block& block, bool remap, const device::Limits& limits);
/// A description with what all methods share: MTTKRP over all modes of tensors of order 2 and more.
MethodSpec passes_method(MethodSpec own);

}  // namespace retensor::flycoo
