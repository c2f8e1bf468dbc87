// The device's part of an update without Eigen's types, which the CUDA compiler is kept from.
#pragma once

#include <functional>
#include <memory>
#include <span>

#include "common/tensor/matrix.hpp"

namespace retensor::cpd {

/// Matrices of R x R are contiguous and symmetric.
class UpdatesOnDevice {
 public:
  virtual ~UpdatesOnDevice() = default;
  /// As Updates::update; `pseudo_inverse` fills in V^+ where V is singular.
  virtual void update(const Matrix& m, std::span<const double> v,
                      const std::function<void(std::span<double>)>& pseudo_inverse, Matrix& factor,
                      std::span<double> norms, std::span<double> gram,
                      std::span<double> products) = 0;
};

std::unique_ptr<UpdatesOnDevice> updates_on_device(std::uint64_t rows, std::uint64_t rank,
                                                   DType dtype);

}  // namespace retensor::cpd
