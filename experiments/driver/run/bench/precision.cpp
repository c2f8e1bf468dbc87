#include "experiments/driver/run/bench/precision.hpp"

#include <algorithm>

#include "common/measure/statistics.hpp"
#include "experiments/driver/run/bench/bench.hpp"
#include "experiments/driver/run/row.hpp"

namespace retensor::driver {
using nlohmann::json;

namespace {

constexpr double kMostSamples = 100'000;

/// Width of the interval of the median as a share of it; 0 without samples.
double relative_width(const Measurement& m) {
  if (m.samples.empty()) return 0;
  const auto s = summarise(m.samples);
  return (s.ci_high - s.ci_low) / s.median;
}

/// How many more samples the widest interval asks for, as widths fall with the root of the count,
/// at least as many as there are and at most so many; 0 where all are narrow enough.
int samples_to_add(const std::vector<Measurement>& measured, double precision, double most) {
  double count = 0;
  for (const auto& m : measured) {
    if (m.samples.empty()) continue;
    const auto held = static_cast<double>(m.samples.size());
    const auto wider = relative_width(m) / precision;
    if (wider > 1) count = std::max(count, held * std::max(1.0, wider * wider - 1));
  }
  return static_cast<int>(std::min({count, most, kMostSamples}));
}

/// A measurement that ended badly takes the place of all before it.
void add_samples(Measurement& all, const Measurement& more) {
  if (all.status != name(Status::ok)) return;
  if (more.status != name(Status::ok)) {
    all = more;
    return;
  }
  all.samples.insert(all.samples.end(), more.samples.begin(), more.samples.end());
  all.stages.insert(all.stages.end(), more.stages.begin(), more.stages.end());
  all.clock_drift = std::max(all.clock_drift, more.clock_drift);
}

}  // namespace

std::vector<Measurement> measure_precisely(const Measure& measure, TimingOptions options,
                                           const Wish& wish) {
  std::vector<Measurement> measured, more;
  double left = wish.at_most;
  // Clocks are read around each sample, which takes longer than short runs do.
  auto seconds = timed([&] { measured = measure(options); });
  while (wish.precision > 0) {
    const double most = left * (options.warmup + options.samples) / seconds;
    options.samples = samples_to_add(measured, wish.precision, most - options.warmup);
    if (options.samples < 1) break;
    ++options.seed;
    seconds = timed([&] { more = measure(options); });
    left -= seconds;
    for (std::size_t k = 0; k < more.size(); ++k) add_samples(measured[k], more[k]);
  }
  return measured;
}

json sampling_json(const Measurement& m, double precision) {
  if (precision <= 0) return json::object();
  const auto reached = relative_width(m);
  return {{"sampling",
           {{"precision", precision},
            {"reached", reached},
            {"stopped_by", reached <= precision ? "precision" : "limit"}}}};
}

namespace {

/// Samples that a hot GPU gave are taken again as often.
constexpr int kMostRepetitions = 2;

bool any_samples(const std::vector<Measurement>& measured) {
  return std::ranges::any_of(measured, [](const Measurement& m) { return !m.samples.empty(); });
}

}  // namespace

Watched measure_watched(const Measure& measure, const TimingOptions& options, const Wish& wish,
                        const std::vector<bool>& is_cuda, const AskGpu& gpu) {
  std::vector<json> states(is_cuda.size());
  if (std::ranges::find(is_cuda, true) == is_cuda.end())
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
