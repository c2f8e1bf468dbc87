// Leading left singular vectors: factors of a Tucker decomposition, and a start of both
// decompositions (T. G. Kolda, B. W. Bader: Tensor Decompositions and Applications, SIAM Review
// 51(3), 2009, Fig. 4.3). Singular values below 1e-8 of the largest are noise, for all come from
// Gram matrices.
#pragma once

#include <Eigen/Dense>
#include <cstdint>

#include "common/tensor/coo.hpp"
#include "common/tensor/matrix.hpp"

namespace retensor::cpd {

/// An orthonormal basis of the columns; where they depend on one another, more directions.
Eigen::MatrixXd orthonormal(const Eigen::MatrixXd& columns);

/// The `count` leading left singular vectors of a matrix, most significant first: orthonormal
/// columns. `count` is at most the number of rows and of columns.
Eigen::MatrixXd leading_vectors(const Matrix& matrix, Eigen::Index count);

/// Those of the unfolding of a mode, I_mode x count, each with the sign that makes its entry of the
/// largest magnitude positive. For a mode of up to 256 indices, or twice `count`, from
/// the Gram matrix of the unfolding, else by subspace iteration from random directions of the seed
/// (N. Halko, P. G. Martinsson, J. A. Tropp: Finding Structure with Randomness, SIAM Review 53(2),
/// 2011, Algorithm 4.4) until the singular values stand still. The result is the same on any number
/// of threads. `count` is at most I_mode. Throws InputError where the coordinates over the other
/// modes need more than 128 bits.
Eigen::MatrixXd leading_vectors(const Coo& x, int mode, Eigen::Index count, std::uint64_t seed);

}  // namespace retensor::cpd
