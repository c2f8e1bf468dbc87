// What makes the samples of a row doubtful: how far they spread, whether they drift, what else the
// machine did meanwhile.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include <nlohmann/json.hpp>

namespace retensor::driver {

/// What a row says of the noise in its samples:
/// - `spread`: the largest sample over the least;
/// - `drift`: the correlation of each sample with the next, from 8 samples on;
/// - `reasons`: in words, why the row is doubtful; empty where it is not. Samples that spread more
///   than twofold; that drift, where no order of independent samples would with 99%, by more than
///   10%; a machine with more work than cores; a host that took processors away; a GPU that heat
///   or its own brakes slowed down, or that others computed on.
/// Null for a row without samples.
nlohmann::json noise_of(const nlohmann::json& row);
/// The reasons in one text, empty where there are none.
std::string noise_text(const nlohmann::json& row);

/// {"governor","turbo"} of the first processor as the kernel tells them, "unknown" where it does
/// not.
nlohmann::json governing();

/// The `cpu_load` of a row (experiments/schema), from now on until told.
class LoadMeter {
 public:
  /// Seconds of all processors since the start of the machine.
  struct Ticks {
    double busy = 0;   ///< not idle, stolen time included
    double steal = 0;  ///< wanted, while the host of this virtual machine ran others
  };
  LoadMeter();
  /// {"average", "others", "own", "steal", "cores"}; without what the kernel does not tell.
  nlohmann::json load() const;

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::optional<Ticks> ticks_;
  double own_;  ///< of this process
  double average_ = -1;
};

}  // namespace retensor::driver
