// The dense part of a CP-ALS update (als.hpp): solve, normalisation, Gram matrix and the column
// sums that the fit takes, on the host or on the device. Both work in fp64 and add up in a fixed
// order, so that a machine gives the same bits in every run.
#pragma once

#include <Eigen/Dense>
#include <memory>

#include "common/tensor/matrix.hpp"

namespace retensor::cpd {

/// What an update tells of the factor A of I x R that it wrote.
struct Update {
  Eigen::VectorXd norms;     ///< of the columns before they were divided by them
  Eigen::MatrixXd gram;      ///< A^T A
  Eigen::VectorXd products;  ///< sums of the columns of M o A
};

class Updates {
 public:
  virtual ~Updates() = default;
  /// Writes A = M V^+ with columns divided by their 2-norms to `factor`; a column of norm 0 stays
  /// zero. M and A have equal shapes and types, V is R x R, symmetric and positive semidefinite.
  virtual Update update(const Matrix& m, const Eigen::MatrixXd& v, Matrix& factor) = 0;
};

/// By Eigen. Room for I x R numbers, `rows` being the longest mode, is taken at once.
std::unique_ptr<Updates> host_updates(std::uint64_t rows, std::uint64_t rank);
/// By Cholesky's factorisation of V on the device, where V is singular by the pseudo-inverse of the
/// host. M comes from the host and A goes back there, since methods take their factors from it.
/// Throws LogicError in a build without CUDA.
std::unique_ptr<Updates> device_updates(std::uint64_t rows, std::uint64_t rank, DType dtype);

/// V^+, which stands for the inverse where components coincide or vanish.
Eigen::MatrixXd pseudo_inverse(const Eigen::MatrixXd& v);

}  // namespace retensor::cpd
