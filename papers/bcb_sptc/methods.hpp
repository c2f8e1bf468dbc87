// The methods of BCB-SpTC, one factory each, and the parameters that they share.
#pragma once

#include <memory>
#include <vector>

#include "common/measure/method.hpp"
#include "common/numeric/tensor_core.hpp"
#include "papers/bcb_sptc/addend.hpp"
#include "papers/bcb_sptc/task_list.hpp"

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
/// Whether entries are sorted by coordinate, which a sum with Z does anyway.
bool sorts_output(const Params& params);
Arithmetic arithmetic_of(const Params& params);
Blocking blocking_of(const Params& params);
Contraction contraction_of(const Problem& problem);
Operands operands_of(const Problem& problem, const Params& params);

/// One operand as it lies in memory.
struct StoredFormat {
  const Grid& grid;
  ValueType values;
  Count blocks, nnz, bytes;
};
struct TaskCounts {
  Count pairs, tasks, results;
};
/// What a row tells of formats and tasks: edges, blocks, bits by eq. 3 to 7, bytes by eq. 8 and 9
/// and as stored, of each operand; pairs, tasks and result blocks; products of fragments when none
/// is left out and by the paper's count.
Executed shared_facts(const StoredFormat& x, const StoredFormat& y, const Contraction& modes,
                      TaskCounts counts, Arithmetic arithmetic);

}  // namespace retensor::bcb_sptc
