// Cases run in child processes: one that dies costs its row alone.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "experiments/driver/case.hpp"
#include "experiments/driver/spec.hpp"

namespace retensor::driver {

/// A child process (this executable with the hidden subcommand `worker`) for one data set. Requests
/// and answers are JSON lines over a socket pair; a request is a list of cases to be timed together.
class Worker {
 public:
  Worker(const std::string& registry_path, const std::string& cache_dir, Count memory_limit);
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  /// One row body (status, phases, check ...) per case, in order. A death of the child, a timeout or a
  /// half-written answer yields rows with status crashed, timeout or oom and respawns the child.
  std::vector<nlohmann::json> run(const std::vector<Case>& together, const MeasureSpec& measure);

 private:
  struct State;
  State* state_;
};

/// The child's main loop; returns its exit code.
int worker_main(const std::string& registry_path, const std::string& cache_dir, int socket);

}  // namespace retensor::driver
