// The methods of BCB-SpTC, one factory each, and the parameters that they share.
#pragma once

#include <memory>
#include <vector>

#include "common/measure/method.hpp"
#include "common/numeric/tensor_core.hpp"
#include "papers/bcb_sptc/task_list.hpp"

namespace retensor::bcb_sptc {

std::unique_ptr<Method> make_bcb_cpu();   ///< bcb_sptc.cpu
std::unique_ptr<Method> make_bcb_cuda();  ///< bcb_sptc.cuda

/// edge, block_bits, values, precision, intersect, zeros.
std::vector<ParamSpec> shared_params();
/// Contractions in single precision whose blocks have indices of at most 128 bits; a reason for all
/// else.
Support supports_contraction(const Problem& problem, const Params& params);
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
