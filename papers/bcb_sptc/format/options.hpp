// The contraction, the blocks and the arithmetic that a method's parameters ask for, and what a row
// tells of formats and tasks.
#pragma once

#include <string>

#include "common/method/method.hpp"
#include "common/numeric/tensor_core.hpp"
#include "papers/bcb_sptc/format/operands.hpp"

namespace retensor::bcb_sptc {

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
