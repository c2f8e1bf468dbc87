// Times of the same cases in two sets of rows, or of two methods on the same problems.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/measure/statistics.hpp"
#include "experiments/driver/run/row.hpp"

namespace retensor::driver {

struct CompareOptions {
  std::vector<std::string> ignore;  ///< members of the case (dotted) that may differ
  std::string method_a, method_b;   ///< both empty: a method is compared with itself
  double threshold = 0.02;          ///< ratios closer to 1 never count
};

/// What the rows of one case on one machine (all its launches) say.
struct Measured {
  Row row;                                   ///< of the first launch
  std::vector<std::vector<double>> samples;  ///< seconds by launch
  std::string failure;                       ///< status and reason; empty when every launch is ok
  bool drifted = false;                      ///< the clocks of a launch drifted by more than 2%
  std::string noise;                         ///< why the samples of a launch are doubtful

  std::size_t count() const;  ///< samples of all launches
};

enum class Change { none, faster, slower, too_few };
/// none, faster, slower, "too few samples".
std::string name(Change change);

struct Pair {
  Measured a, b;
  Ratio ratio;  ///< time of b over time of a; zeros when one of them is not ok
  Change change = Change::none;

  bool ok() const { return a.failure.empty() && b.failure.empty(); }
  bool one_machine() const;  ///< false too where a machine is unknown
};

struct Comparison {
  std::vector<Pair> pairs;
  std::vector<Measured> only_a, only_b;
  std::vector<std::string> ignored;  ///< members of the case that were left out of the pairing

  /// Geometric mean of the ratios of the pairs that are ok, with the 95% percentile bootstrap
  /// interval over the pairs (2000 resamples, fixed seed); nothing where there is no such pair.
  std::optional<Ratio> mean_ratio() const;

  /// What makes the pairs less than like for like: other machines, drifting clocks,
  /// noisy samples.
  std::vector<std::string> warnings() const;
  /// Whether something became significantly slower or is no longer ok.
  bool worse() const;
};

/// Pairs rows whose cases agree in all but the launch and the ignored members; two
/// methods' cases also in the parameters that both have. Where the sides have no artifact in
/// common, `artifact` is ignored too. On one machine where both sides have rows of it, else across
/// machines. A change counts when the interval of the ratio excludes 1, the ratio is beyond the
/// threshold and both sides have at least 4 samples.
Comparison compare_rows(const std::vector<Row>& a, const std::vector<Row>& b,
                        const CompareOptions& options);

}  // namespace retensor::driver
