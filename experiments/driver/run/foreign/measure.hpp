// Measures external code: each run gets operands of its own, its result is compared with the
// oracle, and its time is taken from here too.
#pragma once

#include <nlohmann/json.hpp>

#include "common/measure/timing.hpp"
#include "experiments/driver/run/foreign/foreign_run.hpp"

namespace retensor::driver {

/// What a row says of external code beside its measurement.
struct ForeignMeasurement {
  Measurement measurement;
  double oracle_seconds = 0;          ///< of all checks
  nlohmann::json details;             ///< member `foreign` of the row
  std::vector<std::string> findings;  ///< in words: where what it says and what is seen disagree
};

/// As measure(): every fault ends in the status. `posed` gives the tensor; operands are drawn from
/// a seed that nobody knows before, which the details state.
ForeignMeasurement measure_foreign(const Case& c, const std::shared_ptr<const Problem>& posed,
                                   const Method& method, const TimingOptions& options,
                                   Deadline deadline);

/// A sentence for each probe that a code got wrong or died of, and for each that it declined.
struct Probed {
  std::vector<std::string> failed, declined;
};
/// Small problems of the case's operation, order and type, each with one trait that codes get
/// wrong. Whoever declines all of them fails, since nothing is known of it on other inputs then.
Probed probe_foreign(const Case& c, int order, const Method& method, Deadline deadline);

}  // namespace retensor::driver
