// Hardware counters of GPU cases: an extra run of a case under Nsight Compute (ncu), and what its
// CSV table says as numbers, summed over a run.
#pragma once

#include <chrono>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "experiments/driver/run/child_process.hpp"
#include "experiments/driver/run/worker.hpp"
#include "experiments/driver/spec/case.hpp"

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

/// Profiles cases after they were measured, in processes of their own: no timed sample is ever
/// taken under ncu. Clocks are left alone.
class Profiler {
 public:
  /// Looks for ncu on the PATH and where the CUDA toolkit installs it.
  Profiler(WorkerSetup setup, StopSignals& stop);

  /// The `profile` object of the row (experiments/schema): counters, or the reason why there are
  /// none. `timeout` is that of the case. Throws StoppedAtOnce.
  nlohmann::json profile(const Case& c, const nlohmann::json& row,
                         std::chrono::milliseconds timeout);

 private:
  std::vector<std::string> command(const Case& c, const std::filesystem::path& folder) const;
  /// Tries again without the metrics that ncu refuses.
  nlohmann::json measure(const Case& c, std::chrono::milliseconds limit);

  WorkerSetup setup_;
  StopSignals& stop_;
  std::string ncu_;                   ///< empty: not found
  std::vector<std::string> metrics_;  ///< those that ncu has not refused
};

}  // namespace retensor::driver
