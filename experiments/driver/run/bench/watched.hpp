// What NVML says of the GPU while something is measured on it, which is done again where heat or
// the hardware's own brakes slowed it down.
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "experiments/driver/run/bench/precision.hpp"
#include "experiments/driver/run/gpu_state.hpp"

namespace retensor::driver {

/// The GPU, asked for when it is first needed.
using AskGpu = std::function<const GpuState&()>;

/// Results and, in the same order, what a row says of the GPU meanwhile: null for what ran on the
/// CPU. `repeated` of it keeps what came out before, where it was measured again.
struct Watched {
  std::vector<Measurement> measured;
  std::vector<nlohmann::json> states;
};

/// Measures as precisely as wished. `is_cuda` says of each result whether a GPU gives it.
Watched measure_watched(const Measure& measure, const TimingOptions& options, const Wish& wish,
                        const std::vector<bool>& is_cuda, const AskGpu& gpu);

}  // namespace retensor::driver
