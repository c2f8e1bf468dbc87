// Samples until the medians are known as precisely as a spec asks, with what NVML says of the GPU
// meanwhile; those that heat or the hardware's own brakes slowed down are taken again.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <vector>

#include "common/measure/timing.hpp"
#include "experiments/driver/run/gpu_state.hpp"

namespace retensor::driver {

/// Narrowness of the interval of the median as a share of it (0: any), and the seconds for it.
struct Wish {
  double precision = 0, at_most = 0;
};

using Measure = std::function<std::vector<Measurement>(const TimingOptions&)>;

/// Measures, and again with more samples until the interval of each median is as narrow as asked
/// for or the time is over. Each time methods are prepared anew; all samples count.
std::vector<Measurement> measure_precisely(const Measure& measure, TimingOptions options,
                                           const Wish& wish);
/// The member `sampling` of a row whose spec asks for a precision.
nlohmann::json sampling_json(const Measurement& m, double precision);

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
