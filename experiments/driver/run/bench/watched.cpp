#include "experiments/driver/run/bench/watched.hpp"

#include <algorithm>

#include "common/measure/statistics.hpp"
#include "experiments/driver/run/bench/attempt.hpp"

namespace retensor::driver {
using nlohmann::json;

namespace {

/// Samples that a hot GPU gave are taken again as often.
constexpr int kMostRepetitions = 2;

bool any_samples(const std::vector<Measurement>& measured) {
  return std::any_of(measured.begin(), measured.end(),
                     [](const Measurement& m) { return !m.samples.empty(); });
}

}  // namespace

Watched measure_watched(const Measure& measure, const TimingOptions& options, const Wish& wish,
                        const std::vector<bool>& is_cuda, const AskGpu& gpu) {
  std::vector<json> states(is_cuda.size());
  if (std::find(is_cuda.begin(), is_cuda.end(), true) == is_cuda.end())
    return {measure_precisely(measure, options, wish), std::move(states)};
  std::vector<json> repeated(is_cuda.size(), json::array());
  for (int attempt = 0;; ++attempt) {
    Watched done{{}, states};
    const auto before = gpu().now();
    const auto spent = timed([&] { done.measured = measure_precisely(measure, options, wish); });
    const auto state = between(before, gpu().now(), spent);
    const auto slowed_by = brakes(state);
    const bool again =
        !slowed_by.empty() && attempt < kMostRepetitions && any_samples(done.measured);
    for (std::size_t k = 0; k < is_cuda.size(); ++k) {
      if (!is_cuda[k]) continue;
      const auto& samples = done.measured[k].samples;
      if (again && !samples.empty())
        repeated[k].push_back({{"slowed_by", slowed_by}, {"median", summarise(samples).median}});
      done.states[k] = state;
      if (!repeated[k].empty()) done.states[k]["repeated"] = repeated[k];
    }
    if (!again) return done;
  }
}

}  // namespace retensor::driver
