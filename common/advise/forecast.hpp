// Times, bytes and errors that candidates are expected to have on a problem of one operation and
// device.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/advise/experience.hpp"
#include "common/advise/regression.hpp"

namespace retensor::advise {

/// Families that a candidate must have been measured on to be offered.
inline constexpr int kFewestFamilies = 3;
/// Standard deviations that are added to an expected time before times are compared: of two
/// candidates expected to be equal the one that is known better is taken.
inline constexpr double kCaution = 1;
/// The same for problems unlike all that were measured.
inline constexpr double kCautionOutside = 2;

/// Whether a user would take the method without a planner: cuBLAS, cuSPARSE or Sputnik.
bool is_library(std::string_view method);
/// How many times as long a library may be expected to take before another method is taken in its
/// place.
inline constexpr double kForLibraries = 1.3;

struct Forecast {
  std::size_t candidate = 0;
  Estimate run, prepare;  ///< logarithms of seconds
  bool of_library = false;

  double run_seconds(double deviations = 0) const;
  double prepare_seconds(double deviations = 0) const;
  /// Of a preparation and `calls` runs.
  double total(double calls, double deviations = 0) const;
};

/// The mean of what a logarithm stands for that is normally distributed.
double expected_seconds(const Estimate& logarithm);

/// By what candidates are compared: totals with `caution` deviations, and a margin for libraries
/// where the list has some.
std::vector<double> weighed(const std::vector<Forecast>& forecasts, double calls, double caution);
/// The place of the least of these; throws LogicError for an empty list.
std::size_t best_of(const std::vector<Forecast>& forecasts, double calls, double caution);

/// Runs of each candidate of a trial, of which the shorter counts: the first may load a kernel.
inline constexpr int kRunsOfTrial = 2;
struct Tried {
  double prepare = 0, run = 0;  ///< seconds, of the shortest run
  std::string failure;          ///< why it has no times
};
/// Prepares and runs the candidate of a place in the list.
using TryOut = std::function<Tried(std::size_t)>;
/// A candidate that was tried, by its place in the list.
struct Step {
  std::size_t place = 0;
  Tried tried;
};

/// Tries candidates one after the other, at most `most`. It begins with the one whose trial leaves
/// the least to expect of all that follows, which may be one that is cheap to try in place of the
/// best forecast. Another is tried as long as the time that it is expected to save in `calls` runs,
/// given the times so far, exceeds that of its trial: a candidate that is slower than foreseen
/// calls for one that was expected to differ from it, and a problem on which all are slow does not.
/// The winner, the one of the shortest run, stays prepared for the calls. Nothing is tried where no
/// trial is expected to pay, unless it takes next to nothing beside the calls.
std::vector<Step> trial(const std::vector<Forecast>& forecasts, double calls, double caution,
                        const TryOut& try_out, std::size_t most = 3);
/// The number of the step of the shortest run; none where all have failed.
std::optional<std::size_t> winner_of(const std::vector<Step>& steps);

/// What the times of one operation on one device tell; keeps references into the experience.
class Forecaster {
 public:
  Forecaster(const Experience& seen, std::size_t device, Operation operation);

  /// Numbers of the candidates that are offered, and of those measured on too few families for it.
  const std::vector<std::size_t>& offered() const { return offered_; }
  const std::vector<std::size_t>& little_known() const { return little_known_; }
  /// Those of the latter that were measured on a problem which is nearly this one.
  std::vector<std::size_t> known_nearby(const Aspects& at) const;
  /// Of these candidates. Throws LogicError where nothing was measured.
  std::vector<Forecast> of(const Aspects& at, double tensor_bytes,
                           const std::vector<std::size_t>& candidates) const;
  double format_bytes(const Aspects& at, double tensor_bytes, std::size_t candidate) const;
  double device_bytes(const Aspects& at, double tensor_bytes, std::size_t candidate) const;
  /// The upper quartile of the errors measured.
  double error(std::size_t candidate) const;
  /// Families that a candidate was measured on.
  int families(std::size_t candidate) const;

  /// In which aspects the problem lies outside all that was measured, on tensors of other families
  /// than `without`: "nonzeros 3e+09, seen 10 to 1e+08".
  std::vector<std::string> outside(const Aspects& at, std::string_view without = "") const;
  /// The measured problem that is most like this one.
  const SeenProblem& nearest(const Aspects& at) const;

  /// Rows of the table that it was made of.
  const std::vector<const SeenTimes*>& times() const { return times_; }
  /// What it would say of each of them had it not seen the tensor's family.
  std::vector<Forecast> left_out() const;

 private:
  struct Fits;
  const SeenProblem& problem_of(const SeenTimes& t) const { return seen_.problems[t.problem]; }
  Place place_of(const SeenTimes& t) const;
  Place place_of(const Aspects& at, std::size_t candidate) const;
  template <class Value>
  Regression fitted(const Kernel& kernel, Value value) const;
  Regression fitted_runs() const;
  Regression fitted_preparations() const;
  /// Logarithms of the seconds that the compulsory bytes and one pass over the format take, and of
  /// the usual preparation.
  double floor_of(const Aspects& at, double format_bytes) const;
  double usual_of(double tensor_bytes, double format_bytes) const;
  const Regression& fit(std::unique_ptr<Regression>& kept, double SeenTimes::*bytes) const;

  const Experience& seen_;
  Backend backend_;
  double bytes_a_second_;
  std::vector<const SeenTimes*> times_;
  std::vector<std::size_t> offered_, little_known_;
  std::vector<std::size_t> methods_;  ///< number of the method of each candidate
  mutable std::unique_ptr<Regression> run_, prepare_, format_, memory_;  // made when first needed
};

/// The prior of a preparation: bytes of the coordinates at a rate of sorting, those of the format
/// at a rate of first writing them, and a constant.
double usual_preparation(double tensor_bytes, double format_bytes, Backend backend);

}  // namespace retensor::advise
