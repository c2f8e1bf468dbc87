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
///   10%; a machine with more work than cores.
/// Null for a row without samples.
nlohmann::json noise_of(const nlohmann::json& row);
/// The reasons in one text, empty where there are none.
std::string noise_text(const nlohmann::json& row);

/// The `cpu_load` of a row (experiments/schema), from now on until told.
class LoadMeter {
 public:
  LoadMeter();
  /// {"average", "others", "own", "cores"}; without what the kernel does not tell.
  nlohmann::json load() const;

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::optional<double> busy_;  ///< seconds of all processors
  double own_;                  ///< of this process
  double average_ = -1;
};

}  // namespace retensor::driver
