// Sweeps of HOOI that keep tensor, factors, products and Gram matrices on the device. Without
// Eigen's types, which the CUDA compiler is kept from.
#pragma once

#include <array>
#include <memory>
#include <string_view>
#include <vector>

#include "common/tensor/coo.hpp"
#include "common/tensor/matrix.hpp"

namespace retensor::tucker {

/// What finds eigenvectors of a Gram matrix: a function of cuSOLVER, or the randomised range finder
/// of range_finder.cuh, which leaves out what it is not asked for and is not exact.
enum class Solver { syevd, xsyevd, syevdx, range };
inline constexpr std::array kSolverNames = {"syevd", "xsyevd", "syevdx", "range"};
/// Throws InputError for another name.
Solver solver_from_name(std::string_view name);

class Sweeps {
 public:
  virtual ~Sweeps() = default;
  /// Begins with factors of I_m x R_m.
  virtual void begin(const std::vector<Matrix>& factors) = 0;
  /// Updates every factor in turn and returns |core|. Nothing else crosses the bus, and nothing is
  /// allocated.
  virtual double run() = 0;
  /// The factors; columns beyond the rank of an unfolding are zero.
  virtual void fetch(std::vector<Matrix>& factors) = 0;
  /// R_0 x R_1 x ..., the last mode fastest, of the last sweep.
  virtual std::vector<double> core() = 0;
};

/// With a TTM-chain of its own, for a tensor of order 2 to 5 without duplicate coordinates and any
/// ranks that a core can have. Throws InputError for another order, and DeviceError without a
/// device, cuBLAS or cuSOLVER.
std::unique_ptr<Sweeps> device_sweeps(const Coo& x, const Dims& ranks, Solver solver);

}  // namespace retensor::tucker
