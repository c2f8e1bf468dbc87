// The suite's methods, one factory each, and what they share.
#pragma once

#include <memory>

#include "common/measure/method.hpp"

namespace retensor::pasta {

std::unique_ptr<Method> make_coo_cpu();         ///< pasta.cpu.coo
std::unique_ptr<Method> make_hicoo_cpu();       ///< pasta.cpu.hicoo
std::unique_ptr<Method> make_coo_cuda();        ///< pasta.cuda.coo, the paper's kernels
std::unique_ptr<Method> make_hicoo_cuda();      ///< pasta.cuda.hicoo, the paper's kernels
std::unique_ptr<Method> make_coo_cuda_tuned();  ///< pasta.cuda.tuned

/// The parameter `block` of the HiCOO methods: the block edge B, and whether it is one.
ParamSpec block_param();
Support supports_block(const Params& params);
/// The five kernels; a reason for everything else.
Support supports_suite(const Problem& problem);

}  // namespace retensor::pasta
