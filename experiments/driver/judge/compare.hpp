// Times of the same cases in two sets of rows, or of two methods on the same problems.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "common/measure/statistics.hpp"
#include "experiments/driver/judge/calibration.hpp"
#include "experiments/driver/run/row.hpp"

namespace retensor::driver {

struct CompareOptions {
  std::vector<std::string> ignore;             ///< members of the case (dotted) that may differ
  std::string method_a, method_b;              ///< both empty: a method is compared with itself
  double threshold = 0.02;                     ///< ratios closer to 1 never count
  std::vector<Calibration> calibrations = {};  ///< a larger threshold of a machine counts instead
};

/// What the rows of one case on one machine (all its launches) say. A large file has many: what is
/// compared is kept, the case as text, of which a parsed one takes several times the bytes.
struct Measured {
  explicit Measured(const Row& row);

  std::string case_text;                     ///< JSON of the case without its launch
  std::string launch;                        ///< JSON of the first launch; empty: none
  std::string key, device, commit;           ///< of the first launch
  std::string machine;                       ///< which of its model; empty where that is not known
  std::vector<std::vector<double>> samples;  ///< seconds by launch
  std::string failure;                       ///< status and reason; empty when every launch is ok
  bool drifted = false;                      ///< the clocks of a launch drifted by more than 2%
  std::string noise;                         ///< why the samples of a launch are doubtful

  nlohmann::json row_case() const;
  std::size_t count() const;  ///< samples of all launches
  void add(Measured other);
};
using MeasuredPtr = std::shared_ptr<const Measured>;

/// One of the two sets of rows, which it takes one at a time.
class Side {
 public:
  /// `method` empty: the rows of all methods are compared.
  Side(const CompareOptions& options, std::string method);
  void add(const Row& row);

  std::string method;
  std::size_t rows = 0;                      ///< that are compared
  std::set<std::string> machines, commits;   ///< of these rows
  std::set<std::string> methods, artifacts;  ///< of all rows
  std::set<std::string> ignored;             ///< members to ignore that a case has
  std::vector<Measured> measured;            ///< by row

 private:
  std::vector<std::string> ignore_;
};

/// `undecided`: by the calibration of the machine no difference counts between so few launches.
enum class Change { none, faster, slower, too_few, too_noisy, undecided };
/// none, faster, slower, "too few samples", "too noisy", undecided.
std::string name(Change change);

/// {ratio, ci_low, ci_high}.
nlohmann::json ratio_json(const Ratio& ratio);

struct Pair {
  MeasuredPtr a, b;
  Ratio ratio;  ///< time of b over time of a; zeros when one of them is not ok
  Change change = Change::none;

  bool ok() const { return a->failure.empty() && b->failure.empty(); }
  /// False too where a model is unknown; machines that rows do not tell count as the same.
  bool one_machine() const;
};

struct Comparison {
  std::vector<Pair> pairs;
  std::vector<MeasuredPtr> only_a, only_b;
  std::vector<std::string> ignored;  ///< members of the case that were left out of the pairing

  /// Geometric mean of the ratios of the pairs that are ok, with the 95% percentile bootstrap
  /// interval over the pairs (2000 resamples, fixed seed); nothing where there is no such pair.
  std::optional<Ratio> mean_ratio() const;

  /// What makes the pairs less than like for like: other machines, drifting clocks,
  /// noisy samples.
  std::vector<std::string> warnings() const;
  std::set<std::string> rules;  ///< in sentences, by which differences count on a machine
  /// Whether something became significantly slower or is no longer ok.
  bool worse() const;
  bool undecided() const;  ///< whether no rule tells one of the pairs apart
};

/// Pairs rows whose cases agree in all but the launch and the ignored members; two
/// methods' cases also in the parameters that both have. Where the sides have no artifact in
/// common, `artifact` is ignored too. On one machine where both sides have rows of it, else across
/// machines. A change counts when the interval of the ratio excludes 1, the ratio is beyond the
/// threshold and both sides have at least 4 samples; on a calibrated machine beyond its threshold,
/// and none where a side is noisy or there is no rule. Takes the measurements out of the sides.
Comparison compare_sides(Side& a, Side& b, const CompareOptions& options);

}  // namespace retensor::driver
