// Hardware counters of GPU cases: an extra run of a case under Nsight Compute (ncu).
#pragma once

#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "experiments/driver/run/stop.hpp"
#include "experiments/driver/run/worker.hpp"
#include "experiments/driver/spec/case.hpp"

namespace retensor::driver {

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
