// Products of the blocks of rows that updates of factors go over, in fp64, with the widest vectors
// of the processor that runs them. Matrices lie row by row without padding.
#pragma once

#include "common/core/types.hpp"

namespace retensor::cpd {

/// A = M W: n x R by R x R.
void multiply_rows(const double* m, const double* w, double* a, Count n, Count rank);

/// G += A^T A: R x R of n x R.
void add_block_gram(const double* a, double* g, Count n, Count rank);

}  // namespace retensor::cpd
