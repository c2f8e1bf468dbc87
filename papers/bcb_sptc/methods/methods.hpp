// The methods of BCB-SpTC, and what they share.
#pragma once

#include <memory>

#include "common/method/method_spec.hpp"
#include "common/numeric/tensor_core.hpp"
#include "papers/bcb_sptc/kernels/addend_cpu.hpp"

namespace retensor::bcb_sptc {

MethodSpec make_bcb_cpu(), make_bcb_cuda(), make_bcb_cuda_coo(), make_bcb_cuda_dense(),
    make_bcb_cuda_rows(), make_bcb_cuda_slabs(), make_bcb_cuda_streamed();

/// A description with what both share: contractions in single precision whose blocks have indices
/// of at most 128 bits, the precision, and before its own the parameters edge, block_bits, values,
/// precision, intersect, zeros, output, beta, memory.
MethodSpec blocks_method(MethodSpec own);

/// What checks assume of a tensor core's products with values stored as `values`.
reference::Precision precision_of(Arithmetic arithmetic, ValueType values);

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
