// CP-ALS: the sweeps of an alternating least-squares fit of a CP model, with the MTTKRP of any
// method.
//
// A sweep updates the factors in turn. For mode n: M = MTTKRP of mode n from the factors at hand;
// V = Hadamard product of the Gram matrices of the other factors; A_n = M V^+, its columns divided
// by their norms, which become the weights (T. G. Kolda, B. W. Bader: Tensor Decompositions and
// Applications, SIAM Review 51(3), 2009, Fig. 3.3). The fit 1 - |X - model| / |X| after a sweep
// costs no pass over the nonzeros: <X, model> is the sum of the entries of M o A_N times the
// weights. The sweeps end with one whose fit is less than `tolerance` above the one before, or with
// the last that the problem allows.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/decompose/starts.hpp"
#include "common/decompose/sweeps.hpp"
#include "common/method/method.hpp"

namespace retensor::cpd {

/// Whether the last of the sweeps gained less than `tolerance`.
inline bool converged(const std::vector<double>& fit, double tolerance) {
  return fit.size() > 1 && fit.back() - fit[fit.size() - 2] < tolerance;
}

/// Where the sweeps run whose passes lie on the device: beside them, or on the host.
enum class Place { device, host };

class Als {
 public:
  /// For a problem of operation cpd that outlives the object and whose tensor has no duplicate
  /// coordinates, starting from its dense operands; `given` overlays the defaults of the method's
  /// parameters. A method that keeps its factors to itself gets the host's sweeps wherever it runs,
  /// and so does a non-negative model of more than 256 components.
  /// Throws InputError where the method does not take the problem's MTTKRP.
  Als(const Problem& problem, const Method& mttkrp,
      const std::map<std::string, ParamValue>& given = {}, Place place = Place::device,
      Constraint constraint = Constraint::none);

  /// Back to the initial factors, or to others of I_m x R; throws InputError for other shapes and
  /// for negative entries in a non-negative model.
  void restart();
  void restart(std::vector<Matrix> factors);
  /// From those of first_factors(), which are drawn where the sweeps run; without spread().
  void restart(Start law, std::uint64_t seed);
  /// Goes on from a model after some sweeps; throws InputError when it has other shapes.
  void resume(KruskalModel model);
  /// Before the first sweep: makes the factors orthonormal ones that follow the data (sweeps.hpp).
  /// Throws LogicError for a non-negative model.
  void spread(StageTimer& timer);
  /// Sweeps without a look at the tolerance between them: one, or `count`. The timer lends its
  /// stream to the passes, whose stages it does not see.
  void sweep(StageTimer& timer, std::size_t count = 1);

  /// The factors are the initial ones, those drawn beside the sweeps with unit columns, and weights
  /// zero before the first sweep.
  const KruskalModel& model() const;
  /// After each sweep; without fetching the model.
  const std::vector<double>& fit() const { return model_.fit; }
  /// The last sweep gained less than the tolerance.
  bool converged() const { return cpd::converged(fit(), problem_.spec().tolerance); }
  std::size_t max_sweeps() const { return static_cast<std::size_t>(problem_.spec().max_sweeps); }
  bool finished() const { return converged() || fit().size() >= max_sweeps(); }
  /// The fit of the model at hand by a pass over the nonzeros in fp64. That of a sweep comes from
  /// the last MTTKRP and shares its error, which is more than rounding where operands are halves.
  double true_fit() const;
  const Prepared& mttkrp() const { return *mttkrp_; }
  Place place() const { return on_device_ ? Place::device : Place::host; }

 private:
  const Problem& problem_;
  const double norm_;  // of the tensor
  enum class Latest { model, operands, sweeps };
  mutable KruskalModel model_;
  mutable Latest latest_ = Latest::model;  // what has the factors at hand
  const Problem passes_problem_;           // MTTKRP with factors of its own
  const std::unique_ptr<Prepared> mttkrp_;
  std::unique_ptr<Sweeps> sweeps_;
  bool on_device_ = false;
  const Constraint constraint_;
};

/// What happens between the sweeps of a run. The functions may be empty.
struct Between {
  std::size_t at_once = 1;  ///< sweeps without a look at the tolerance
  std::size_t every = 10;   ///< sweeps between calls of `save`, which does not see the last
  std::function<void()> save;
  std::function<void()> progress;  ///< after each look at the tolerance
};
/// Sweeps until the tolerance holds or the problem allows no more.
void sweep_to_end(Als& als, StageTimer& timer, const Between& between);

/// Throws InputError unless a factor has the shape and the type of `like`.
void check_factor(std::uint64_t rows, std::uint64_t cols, DType type, const Matrix& like);

/// Prepares a method with its parameters; throws InputError where it does not take the problem.
std::unique_ptr<Prepared> prepare_or_refuse(const Method& method, const Problem& problem,
                                            const std::map<std::string, ParamValue>& given);

/// MTTKRP over all modes of a problem of operation cpd, with the given factors.
Problem mttkrp_problem(const Problem& cpd, std::shared_ptr<const std::vector<Matrix>> factors);

}  // namespace retensor::cpd
