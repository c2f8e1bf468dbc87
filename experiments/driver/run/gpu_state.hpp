// What the GPU's management library tells of it while methods are timed.
#pragma once

#include <memory>
#include <string>

#include <nlohmann/json.hpp>

namespace retensor::driver {

/// Asks NVML (libnvidia-ml.so.1) about the GPU that CUDA calls device 0, which libcuda.so.1 names.
/// Both are loaded when this is made, so that a program without CUDA starts without them. It only
/// reads, but for LockedClock.
class GpuState {
 public:
  explicit GpuState(const std::string& nvml = "libnvidia-ml.so.1",
                    const std::string& cuda = "libcuda.so.1");
  ~GpuState();

  /// Why nothing can be told; empty where something can.
  const std::string& absence() const { return absence_; }
  /// "GPU-..." as nvidia-smi -L prints it, empty where it is not known.
  const std::string& uuid() const { return uuid_; }

  /// {"power_w","limit_w","energy_j","temperature_c","sm_mhz","memory_mhz","most_sm_mhz",
  /// "reasons":[...],"others","slowed_s"} now, without what the device does not tell; {"absent"}
  /// with the reason where there is no NVML. `others` is the number of processes that
  /// compute on it beside this one and its parent, `slowed_s` the seconds by cause for which it ran
  /// slower than asked, ever.
  nlohmann::json now() const;

 private:
  friend class LockedClock;
  struct Library;
  std::unique_ptr<Library> library_;
  std::string absence_, uuid_;
};

/// Holds the clock of the GPU's multiprocessors at so many MHz until it is destroyed, where the
/// user may; a process that is killed leaves it so (`nvidia-smi -rgc` gives it back). Rows say so
/// under `gpu_state.reasons`.
class LockedClock {
 public:
  LockedClock(const GpuState& gpu, unsigned mhz);
  ~LockedClock();
  LockedClock(const LockedClock&) = delete;
  LockedClock& operator=(const LockedClock&) = delete;
  /// Why the clock is not locked; empty where it is.
  const std::string& refusal() const { return refusal_; }

 private:
  const GpuState& gpu_;
  std::string refusal_;
};

/// What lies between two looks: `reasons`, `others` (the most), `temperature_c` and `sm_mhz` at the
/// end, `power_w` on average where the device counts its energy, and `slowed_s` by cause, without
/// causes that took no time.
nlohmann::json between(const nlohmann::json& before, const nlohmann::json& after, double seconds);
/// The causes in a text for which samples are taken again, empty where there are none: heat and the
/// hardware's own brakes. A power cap is none: large kernels meet it each time.
std::string brakes(const nlohmann::json& between);

}  // namespace retensor::driver
