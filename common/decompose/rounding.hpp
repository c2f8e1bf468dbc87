// What counts as rounding in the systems of CP-ALS, on the host and on the device.
#pragma once

#include <cmath>
#include <limits>

#include "common/core/host_device.hpp"

namespace retensor::cpd {

/// What may be rounding of an eigenvalue of V, relative to the largest of `rank`. V is summed in
/// fp64, but V^+ is multiplied by results of MTTKRP in T: what is rounding there must not grow.
template <class T>
RETENSOR_HOST_DEVICE double rounding_of_system(unsigned rank) {
  constexpr double epsilon = std::numeric_limits<T>::epsilon();
  return 4 * rank * epsilon;
}

/// What may be rounding of an eigenvalue of M^T M, which is the square of a singular value of M.
template <class T>
RETENSOR_HOST_DEVICE double rounding_of_gram(unsigned rank) {
  const double of_singular_value = 4 * rounding_of_system<T>(rank);
  return std::fmax(of_singular_value * of_singular_value, 4 * rounding_of_system<double>(rank));
}

}  // namespace retensor::cpd
