#include "experiments/driver/run/bench/row_body.hpp"

#include <cmath>
#include <limits>

#include "common/measure/statistics.hpp"
#include "experiments/driver/run/row.hpp"
#include "experiments/driver/run/worker.hpp"

namespace retensor::driver {
using nlohmann::json;

namespace {

/// Clocks that drift further than this flag their row.
constexpr double kClockDrift = 0.02;

json stages_json(const std::vector<StageTimes>& runs) {
  json stages = json::object();
  for (const auto& run : runs)
    for (const auto& [stage, seconds] : run) stages[stage].push_back(seconds);
  return stages;
}

json stats_json(const Summary& s) {
  return {{"count", s.count}, {"median", s.median}, {"q1", s.q1},
          {"q3", s.q3},       {"mean", s.mean},     {"min", s.min},
          {"max", s.max},     {"ci_low", s.ci_low}, {"ci_high", s.ci_high}};
}

json check_json(const reference::CheckReport& c) {
  return {{"ok", c.ok},
          {"sampled", c.sampled},
          {"entries", c.entries},
          {"error_over_bound", c.error_over_bound},
          {"rmse_full", c.metrics.rmse_full},
          {"rmse_nonzero", c.metrics.rmse_nonzero},
          {"smape_full", c.metrics.smape_full},
          {"smape_nonzero", c.metrics.smape_nonzero},
          {"relative_frobenius", c.metrics.relative_frobenius},
          {"max_absolute", c.metrics.max_absolute}};
}

/// The kernel counts resident pages a thread at a time, so that a mark can lie below one before it.
Count sound_growth(Count bytes) {
  return bytes > std::numeric_limits<Count>::max() / 2 ? 0 : bytes;
}

}  // namespace

json row_body(const Measurement& m, const Before& before) {
  json row = ended(status_from_name(m.status), m.reason);
  row["phases"] = {{"load", before.load_seconds},     {"oracle", before.oracle_seconds},
                   {"prepare", m.prepare_seconds},    {"run", m.samples},
                   {"stages", stages_json(m.stages)}, {"fetch", m.fetch_seconds}};
  if (m.status == name(Status::ok) && before.preparations.size() > 1) {
    row["phases"]["preparations"] = before.preparations;
    row["phases"]["prepare"] = summarise(before.preparations).median;
  }
  row["work"] = {{"flops", m.work.flops},
                 {"bytes", m.work.bytes},
                 {"compulsory_bytes", m.work.compulsory_bytes},
                 {"atomics", m.work.atomics},
                 {"intensity", m.work.intensity()}};
  row["check"] = check_json(m.check);
  row["executed"] = m.executed;
  row["footprint"] = {{"format_bytes", m.footprint.format_bytes},
                      {"device_bytes", m.footprint.device_bytes},
                      {"peak_host_bytes", sound_growth(m.peak_host_bytes)},
                      {"worker_peak_bytes", before.worker_bytes}};
  row["clock_drift"] = m.clock_drift;
  row["clock_flag"] = std::abs(m.clock_drift) > kClockDrift;
  if (m.samples.empty()) return row;
  const auto summary = summarise(m.samples);
  row["stats"] = stats_json(summary);
  row["rates"] = {{"gflops", m.work.flops / summary.median * 1e-9},
                  {"gbytes", m.work.bytes / summary.median * 1e-9}};
  return row;
}

json arithmetic_json(const reference::Precision& p) {
  return {{"operand_eps", p.operand_eps},
          {"roundings", p.roundings},
          {"accumulate_eps", p.accumulate_eps}};
}

}  // namespace retensor::driver
