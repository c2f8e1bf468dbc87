#include "papers/hlsto/methods/cost_model.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string>

namespace retensor::hlsto {
namespace {

constexpr int kRuns = 4;  // the first warms up, as the least of them shows

double seconds_of(Prepared& prepared, StageTimer& timer) {
  double least = std::numeric_limits<double>::infinity();
  for (int run = 0; run < kRuns; ++run) {
    timer.start();
    prepared.run(timer);
    double seconds = 0;
    for (const auto& [stage, time] : timer.stop())
      if (stage != "zero") seconds += time;
    least = std::min(least, seconds);
  }
  return least;
}

Params changed(const ParamSchema& schema, const Params& params, const std::string& name,
               ParamValue value) {
  std::map<std::string, ParamValue> given(params.all().begin(), params.all().end());
  given[name] = std::move(value);
  return schema.resolve(given);
}

}  // namespace

Params with_model_threshold(const ParamSchema& schema, const Params& params, const MakeRun& make,
                            StageTimer& timer) {
  // Seconds for one of what a fact of the run counts; none where it counts nothing.
  const auto cost_in = [&](const char* format, const char* fact) {
    const auto prepared = make(changed(schema, params, "format", std::string(format)));
    const double count = std::stod(prepared->executed().at(fact));
    return count > 0 ? seconds_of(*prepared, timer) / count : 0;
  };
  const double nonzero = cost_in("hls_s", "sparse_nonzeros");
  const double tile = cost_in("hls_d", "dense_tiles");
  std::int64_t threshold = 0;
  if (nonzero > 0)
    threshold = static_cast<std::int64_t>(
        std::clamp(std::ceil(tile / nonzero), 1.0, static_cast<double>(kMostThreshold)));
  return changed(schema, params, "threshold", threshold);
}

}  // namespace retensor::hlsto
