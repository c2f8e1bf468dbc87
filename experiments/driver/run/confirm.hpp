// Rows of code that has changed since: a sample of them measured again can speak for the rest.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "experiments/driver/run/row.hpp"

namespace retensor::driver {

/// Rows of newest_rows that are ok but stale; with `dirty` those too whose session's source tree
/// had uncommitted changes.
std::vector<Row> rows_to_confirm(const std::vector<Row>& rows, bool dirty);

/// A tenth of the rows, five at least, with every method and every data set among them; the same
/// ones for the same rows.
std::vector<Row> sample_of(const std::vector<Row>& rows);

/// Two measurements of a case.
struct Repetition {
  std::string key, method;
  double before = 0, after = 0;  ///< medians in seconds
  double spread = 0;             ///< half the range of the samples of both, in seconds
  std::string failure;           ///< why the second one has no time, empty when it is ok
  double threshold = 0;          ///< smallest change that counts by the machine's calibration, of 1

  /// Whether the medians lie no further apart than the spread and 5%, or the threshold where that
  /// is larger.
  bool agrees() const;
};

/// Whether the repetitions of a method speak for its other rows: nine of ten agree, none failed,
/// and the geometric mean of after over before is within 3%, or the threshold over the root of the
/// number of repetitions where that is larger, and the mean spread, of 1.
bool confirm_method(const std::vector<Repetition>& repetitions);

/// `after` is null where the case was not measured again; `threshold` as in Repetition.
Repetition repetition(const Row& before, const Row* after, double threshold = 0);

/// The confirmation lines (experiments/schema), one for each method that confirm_method
/// accepts: its rows among `rows` stand for this build's code.
std::vector<nlohmann::json> confirmations(const std::vector<Row>& rows,
                                          const std::vector<Repetition>& repetitions,
                                          const std::string& session,
                                          const std::string& architecture);

}  // namespace retensor::driver
