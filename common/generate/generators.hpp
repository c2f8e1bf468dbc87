// Generated tensors. A generator is deterministic in its arguments and independent of the number of
// threads: every random number comes from a counter. Nonzeros have distinct coordinates, sorted in
// natural order, and the count that was asked for exactly.
#pragma once

#include <cstdint>
#include <vector>

#include "common/core/types.hpp"
#include "common/generate/values.hpp"
#include "common/tensor/coo.hpp"

namespace retensor {

/// What every generator is asked for; all throw InputError when nnz passes the number of
/// coordinates or a coordinate needs more than 127 bits.
struct Target {
  Dims dims;
  Count nnz = 0;
  std::uint64_t seed = 1;
  DType dtype = DType::f32;
  ValueModel values = ValueModel::uniform;
};

/// Every set of nnz coordinates alike, at any density up to 1.
Coo uniform(const Dims& dims, Count nnz, std::uint64_t seed, DType dtype,
            ValueModel values = ValueModel::uniform);

/// The tensor of the product of an m x n matrix A and an n x k matrix B: dims mn x nk x mk and a
/// one at (i n + j, j k + l, i k + l) for every i, j, l. Contracting modes 0 and 1 with the
/// row-major entries of A and B gives the row-major entries of A B.
Coo matmul_tensor(std::uint64_t m, std::uint64_t n, std::uint64_t k, DType dtype = DType::f32);

}  // namespace retensor
