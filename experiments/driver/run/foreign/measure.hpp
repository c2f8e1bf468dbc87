// Measures code from outside: each run gets operands of its own, its result is compared with the
// oracle, and its time is taken from here too.
#pragma once

#include <nlohmann/json.hpp>

#include "common/measure/timing.hpp"
#include "experiments/driver/run/foreign/foreign_run.hpp"

namespace retensor::driver {

/// What a row says of code from outside beside its measurement.
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

/// Small problems of the case's operation, order and type, each with one trait that codes get
/// wrong. Returns a sentence for each that this code does not solve.
std::vector<std::string> probe_foreign(const Case& c, int order, const Method& method,
                                       Deadline deadline);

}  // namespace retensor::driver
