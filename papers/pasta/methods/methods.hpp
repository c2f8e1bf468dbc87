// The suite's methods, and what they share.
#pragma once

#include "common/method/method_spec.hpp"

namespace retensor::pasta {

MethodSpec make_coo_cpu(), make_hicoo_cpu(), make_plain_cpu(), make_packed_cpu(), make_copies_cpu(),
    make_fibers_cpu(), make_coo_cuda(), make_hicoo_cuda(), make_coo_cuda_tuned(),
    make_coo_cuda_sliced(), make_coo_cuda_streamed();

/// A description with the suite's five kernels as operations, and the condition that coordinates
/// can hold their result.
MethodSpec suite_method(MethodSpec own);

/// Whether packed rows hold the tensor for MTTKRP of the problem's mode.
Support supports_packed(const Problem& problem, const Params& params);

/// The parameter `block` of the HiCOO methods, the block edge B, and whether it is one.
ParamSpec block_param();
Support supports_block(const Problem& problem, const Params& params);

}  // namespace retensor::pasta
