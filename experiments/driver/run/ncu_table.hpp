// What Nsight Compute measured: its CSV table as numbers, and the sum of a run.
#pragma once

#include <map>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace retensor::driver {

/// The metrics that a profile is made of, by their names in Nsight Compute.
const std::vector<std::string>& ncu_metrics();

/// One kernel launch. A metric that ncu could not give (n/a, an unknown unit) has no entry.
struct KernelLaunch {
  std::string kernel;
  std::map<std::string, double> metrics;  ///< bytes, seconds, percent, counts
};

/// The launches in the output of `ncu --csv --page raw`, whatever else ncu says around the table:
/// a line of column names, a line of units, a line per launch. Throws InputError when a row does
/// not fit its header; output without a table has no launches.
std::vector<KernelLaunch> parse_ncu_csv(const std::string& text);

/// The run as one: counts and bytes summed over its launches, percentages weighed by the launches'
/// times (equally where ncu gave none). A metric that a launch lacks is listed in `missing` and
/// what needs it is left out (experiments/schema, `profile`).
nlohmann::json summarise_launches(const std::vector<KernelLaunch>& launches);

}  // namespace retensor::driver
