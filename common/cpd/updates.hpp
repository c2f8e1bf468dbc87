// The dense part of a CP-ALS update (als.hpp): solve, normalisation, Gram matrix and the column
// sums that the fit takes, on the host or on the device. Both work in fp64 and add up in a fixed
// order, so that a machine gives the same bits in every run. Without Eigen's types, which the CUDA
// compiler is kept from.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "common/tensor/matrix.hpp"

namespace retensor::cpd {

/// What an update tells of the factor A of I x R that it wrote.
struct Update {
  std::vector<double> norms;     ///< of the columns before they were divided by them
  std::vector<double> gram;      ///< A^T A, R x R
  std::vector<double> products;  ///< sums of the columns of M o A
};

/// Writes A = M V^+ with columns divided by their 2-norms to `factor`; a column of norm 0 stays
/// zero. M and A have equal shapes and types, V is R x R, symmetric and positive semidefinite.
using Updates = std::function<Update(const Matrix& m, std::span<const double> v, Matrix& factor)>;

/// By Eigen. Room for I x R numbers, `rows` being the longest mode, is taken at once.
Updates host_updates(std::uint64_t rows, std::uint64_t rank);
/// By Cholesky's factorisation of V on the device, where V is singular by the pseudo-inverse of the
/// host. M comes from the host and A goes back there, since methods take their factors from it.
/// Throws LogicError in a build without CUDA, and for more rows than there is room for.
Updates device_updates(std::uint64_t rows, std::uint64_t rank, DType dtype);

/// V^+ of R x R, which stands for the inverse where components coincide or vanish.
std::vector<double> pseudo_inverse(std::span<const double> v, std::uint64_t rank);

}  // namespace retensor::cpd
