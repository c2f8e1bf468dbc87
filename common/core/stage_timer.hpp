// How a running method tells the timing loop which stage it is in.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace retensor {

/// Seconds per named stage of one run, in the order in which the stages began; a stage that is
/// entered twice has one entry with the sum.
using StageTimes = std::vector<std::pair<std::string, double>>;

/// Clock of one run. Implementations: a steady clock on the host (measure/), CUDA events on a
/// stream (device/). None of the calls between start and stop allocates.
class StageTimer {
 public:
  virtual ~StageTimer() = default;
  virtual void start() = 0;
  /// Ends the stage before and begins `stage`: zero, kernel, remap, reduce, or a method's own name.
  virtual void stage(std::string_view stage) = 0;
  /// Ends the run, waits for the device, returns the stages.
  virtual StageTimes stop() = 0;
  /// The cudaStream_t to launch on; nullptr on the host (and for the default stream).
  virtual void* stream() const { return nullptr; }
};

}  // namespace retensor
