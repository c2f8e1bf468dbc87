// What CP-ALS does with a factor of I x R beside the MTTKRP: Gram matrix, solve, normalisation
// (Kolda and Bader 2009, section 3.4). All in fp64, summed over blocks of rows in a fixed order, so
// that results are the same bits on any number of threads.
#pragma once

#include <Eigen/Dense>
#include <span>

#include "common/tensor/matrix.hpp"
#include "common/tensor/result.hpp"

namespace retensor::cpd {

/// The numbers of an R x R matrix as Eigen sees them.
inline Eigen::Map<const Eigen::MatrixXd> square(std::span<const double> numbers,
                                                std::uint64_t rank) {
  const auto n = static_cast<Eigen::Index>(rank);
  return {numbers.data(), n, n};
}
Eigen::MatrixXd to_eigen(const Matrix& m);

/// The 2-norm of all values.
double norm_of(const Values& values);

/// A^T A, R x R.
Eigen::MatrixXd gram(const Matrix& a);

/// Writes product * inverse, I x R, with columns divided by their 2-norms to `factor` and returns
/// the norms; a column of norm 0 stays zero. `product` and `factor` have equal shapes and types,
/// `inverse` is R x R, `room` holds I x R numbers or more, which are overwritten.
Eigen::VectorXd solve_rows(const Matrix& product, const Eigen::MatrixXd& inverse, Matrix& factor,
                           std::span<double> room);

/// Sums of the columns of the entrywise product of two matrices of equal shape and type.
Eigen::VectorXd column_products(const Matrix& a, const Matrix& b);

/// <X, model>: the sum over the nonzeros of their values times the model's. Factors have the type
/// of the tensor.
double inner_product(const Coo& x, const KruskalModel& model);

}  // namespace retensor::cpd
