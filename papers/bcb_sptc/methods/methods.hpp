// The methods of BCB-SpTC, one factory each, and the parameters that they share.
#pragma once

#include <memory>
#include <vector>

#include "common/measure/method.hpp"
#include "papers/bcb_sptc/kernels/addend_cpu.hpp"

namespace retensor::bcb_sptc {

std::unique_ptr<Method> make_bcb_cpu();   ///< bcb_sptc.cpu
std::unique_ptr<Method> make_bcb_cuda();  ///< bcb_sptc.cuda

/// edge, block_bits, values, precision, intersect, zeros, output, beta, memory.
std::vector<ParamSpec> shared_params();
/// Contractions in single precision whose blocks have indices of at most 128 bits; a reason for all
/// else.
Support supports_contraction(const Problem& problem, const Params& params);

/// A run of a method and the addend after it, which stays with the caller.
using PrepareRun = std::unique_ptr<Prepared> (*)(const Problem& problem, const Params& params,
                                                 const Addend& addend);
/// bcb_sptc.cpu's. Throws OutOfMemory where a list or the result, whose size is known before, takes
/// more than the parameter `memory` or the host have.
std::unique_ptr<Prepared> prepare_bcb_cpu(const Problem& problem, const Params& params,
                                          const Addend& addend);
/// The contraction of a problem, an update where the parameter `beta` asks for one.
std::unique_ptr<Prepared> prepare_contraction(const Problem& problem, const Params& params,
                                              PrepareRun prepare);

}  // namespace retensor::bcb_sptc
