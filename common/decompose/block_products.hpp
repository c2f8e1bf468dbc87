// Work on the blocks of rows that updates of factors go over, in fp64: products of matrices with
// the widest vectors of the processor that runs them. Matrices lie row by row without padding.
#pragma once

#include "common/core/types.hpp"

namespace retensor::cpd {

/// A = M W: n x R by R x R.
void multiply_rows(const double* m, const double* w, double* a, Count n, Count rank);

/// G += A^T A: R x R of n x R. Only entries on and above the diagonal are complete; those below it
/// may be anything.
void add_block_gram(const double* a, double* g, Count n, Count rank);

/// s_r += sum over the rows i of m_ir a_ir: R sums of two n x R matrices.
void add_column_products(const double* m, const double* a, double* s, Count n, Count rank);

/// Numbers whose magnitude is below `least` become zero.
void drop_below(double least, double* a, Count n);

}  // namespace retensor::cpd
