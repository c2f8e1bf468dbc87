// The one loop that checks and times every method.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "common/core/stage_timer.hpp"
#include "common/method/method.hpp"
#include "common/reference/expected.hpp"

namespace retensor {

enum class Order {
  shuffled,  ///< a new random order of the trials in every round
  rotation,  ///< the listed order in every round: modes as CP-ALS runs them
  blocked    ///< all samples of a trial, then the next trial
};
enum class Cache {
  warm,    ///< nothing is done between runs
  flushed  ///< a buffer of twice the last-level cache is written before each run
};

struct TimingOptions {
  int warmup = 2;
  int samples = 5;
  Order order = Order::shuffled;
  Cache cache = Cache::warm;
  std::uint64_t seed = 1;
};

/// One method on one problem, to be timed together with others.
struct Trial {
  const Method* method = nullptr;
  const Problem* problem = nullptr;
  Params params;
};

/// status: ok, unsupported, wrong, failed, oom. A trial that is not ok has no samples.
struct Measurement {
  std::string status = "ok";
  std::string reason;
  double prepare_seconds = 0;
  double fetch_seconds = 0;
  std::vector<double> samples;     ///< seconds of each timed run
  std::vector<StageTimes> stages;  ///< per timed run
  reference::CheckReport check;    ///< of the first run, or of the last one when that is wrong
  Executed executed;
  Footprint footprint;
  Count peak_host_bytes = 0;  ///< growth of the resident set's high-water mark in prepare
  Work work;
  double clock_drift = 0;  ///< relative change of the SM or core clock over the samples
};

/// Supports, prepare (timed), one checked run, warm-up, timed runs in the chosen order, a second
/// check of the last result, so that a stale or accumulating output is caught. Errors of one trial
/// end in its status; the others go on. Never throws for a failing method.
std::vector<Measurement> measure(std::span<const Trial> trials, const TimingOptions& options);

/// One run of a CUDA method as a profiler shall see it (device::ProfiledRange), after one that it
/// shall not see. Nothing is timed or checked. Throws what the method throws.
void run_profiled(const Trial& trial);

/// Steady clock of the host.
std::unique_ptr<StageTimer> make_host_timer();

}  // namespace retensor
