// Tucker decomposition by higher-order orthogonal iteration, with the TTM-chain of any method.
//
// A sweep updates the factors in turn. For mode n: Y = X x_m A_m^T over all other modes m, a
// TTM-chain; A_n = the R_n leading left singular vectors of its unfolding, I_n x prod R_m (T. G.
// Kolda, B. W. Bader: Tensor Decompositions and Applications, SIAM Review 51(3), 2009, Fig. 4.4).
// The core is the last chain times A_N^T. Factors being orthonormal, |X - model|^2 is
// |X|^2 - |core|^2, so that the fit costs no pass over the nonzeros; it shares the error of the
// last chain.
#pragma once

#include <Eigen/Dense>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/decompose/als.hpp"
#include "common/decompose/hooi_sweeps.hpp"
#include "common/decompose/starts.hpp"
#include "common/method/method.hpp"

namespace retensor::tucker {

/// core x_0 A_0 x_1 A_1 ...
struct Model {
  std::vector<double> core;     ///< R_0 x R_1 x ..., the last mode fastest
  std::vector<Matrix> factors;  ///< one per mode, I_m x R_m, columns orthonormal to rounding
  std::vector<double> fit;      ///< 1 - |X - model|_F / |X|_F after each sweep
};

struct Settings {
  Dims ranks;  ///< R_m of each mode
  int max_sweeps = 20;
  double tolerance = 1e-5;  ///< smallest gain of the fit that continues
  std::uint64_t seed = 1;   ///< of the first factors
  /// Orthonormal bases of normal columns, or nvecs: the truncated higher-order singular value
  /// decomposition. Other laws are refused.
  cpd::Start start = cpd::Start::normal;
  Solver solver = Solver::syevd;  ///< of eigenvectors on the device
};

/// Throws InputError for settings that Hooi refuses for a tensor of these mode lengths.
void check_settings(const Settings& settings, const Dims& dims);

/// The TTM-chain of a mode for a core of these ranks: its matrices after the lowest mode's are as
/// wide as the widest of them. With fewer than two ranks it states none.
ProblemSpec chain_spec(const Dims& ranks, int mode, DType dtype);

class Hooi {
 public:
  /// For a tensor of order 2 or more without duplicate coordinates; `given` overlays the defaults
  /// of the method's parameters. The matrices of a TTM-chain after the lowest mode's are equally
  /// wide: narrower ones are padded with zeros. Throws InputError for ranks that no core can have
  /// (below 1, above the mode's length or the product of the others), and where the method does not
  /// take the problem.
  Hooi(std::shared_ptr<const Coo> x, const Settings& settings, const Method& chain,
       const std::map<std::string, ParamValue>& given = {});

  /// With the sweeps of hooi_sweeps.hpp on the device, which take any ranks that a core can have.
  /// Throws InputError for other ranks and for an order above 5, DeviceError without a device.
  Hooi(std::shared_ptr<const Coo> x, const Settings& settings);

  /// Begins with other factors than those of the seed: I_m x R_m of the tensor's type, of full
  /// rank. Throws InputError for other shapes.
  void start(const std::vector<Matrix>& factors);
  void sweep();

  /// The core is empty before the first sweep.
  const Model& model() const;
  /// The last sweep gained less than the tolerance.
  bool converged() const { return cpd::converged(model_.fit, settings_.tolerance); }
  bool finished() const {
    return converged() || std::cmp_greater_equal(model_.fit.size(), settings_.max_sweeps);
  }
  /// Of a Hooi with a method.
  const Prepared& chain(int mode) const { return *chains_.at(static_cast<std::size_t>(mode)); }

 private:
  void draw_factors();
  void set_factor(std::size_t mode, const Eigen::MatrixXd& factor);
  /// Of a sweep by chains on the host: |core|.
  double sweep_host();

  const std::shared_ptr<const Coo> x_;
  const Settings settings_;
  const double norm_;  // of the tensor
  mutable Model model_;
  mutable bool fetched_ = true;     // the model is that of the last sweep
  std::unique_ptr<Sweeps> sweeps_;  // on the device
  std::deque<Problem> problems_;  // by mode; they stay where they are, for the chains refer to them
  std::vector<std::unique_ptr<Prepared>> chains_;
};

}  // namespace retensor::tucker
