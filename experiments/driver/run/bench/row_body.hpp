// The part of a row that a measurement gives (experiments/schema).
#pragma once

#include <vector>

#include <nlohmann/json.hpp>

#include "common/measure/timing.hpp"

namespace retensor::driver {

/// Seconds and bytes of what came before a measurement.
struct Before {
  std::vector<double> preparations;  ///< in seconds, that of the measurement first
  double load_seconds = 0, oracle_seconds = 0;
  Count worker_bytes = 0;  ///< the most that was resident while data and oracles were made
};

/// Status, phases, work, check, footprint, statistics, rates.
nlohmann::json row_body(const Measurement& m, const Before& before);
/// What the check of a result allowed.
nlohmann::json arithmetic_json(const reference::Precision& p);

}  // namespace retensor::driver
