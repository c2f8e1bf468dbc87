#include "experiments/driver/run/bench/bench.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <exception>
#include <limits>
#include <new>
#include <set>
#include <utility>

#include "common/core/error.hpp"
#include "common/device/device.hpp"
#include "common/io/cache.hpp"
#include "common/machine/ceilings.hpp"
#include "common/machine/machine.hpp"
#include "common/measure/batch.hpp"
#include "common/measure/statistics.hpp"
#include "common/run/all_modes.hpp"
#include "experiments/driver/data/facts.hpp"
#include "experiments/driver/run/bench/problems.hpp"
#include "experiments/driver/run/foreign/measure.hpp"
#include "experiments/driver/run/noise.hpp"
#include "experiments/driver/run/row.hpp"
#include "experiments/driver/run/session.hpp"
#include "experiments/driver/run/worker.hpp"

namespace retensor::driver {

using nlohmann::json;

json guarded(const std::function<json()>& work) {
  try {
    return work();
  } catch (const std::bad_alloc&) {
    return ended(Status::oom, "host memory does not suffice");
  } catch (const OutOfMemory& e) {
    return ended(Status::oom, e.what());
  } catch (const std::exception& e) {
    return ended(Status::failed, e.what());
  }
}

json ceilings_json(const std::vector<Ceiling>& ceilings) {
  return transformed(ceilings, [](const Ceiling& c) {
    return json{{"what", c.what}, {"value", c.value}, {"unit", c.unit}, {"detail", c.detail}};
  });
}

double timed(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

namespace {

/// Seconds and bytes of what came before a measurement.
struct Before {
  std::vector<double> preparations;  ///< in seconds, that of the measurement first
  double load_seconds = 0, oracle_seconds = 0;
  Count worker_bytes = 0;  ///< the most that was resident while data and oracles were made
};

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

/// The part of a row that a measurement gives (experiments/schema): status, phases, work, check,
/// footprint, statistics, rates.
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

/// What the check of a result allowed.
json arithmetic_json(const reference::Precision& p) {
  return {{"operand_eps", p.operand_eps},
          {"roundings", p.roundings},
          {"accumulate_eps", p.accumulate_eps}};
}

/// A run that takes so much longer alone than in a batch waits for its launch.
constexpr double kLaunchBound = 1.2;

json ok(const char* member, json content) {
  auto answer = ended(Status::ok);
  answer[member] = std::move(content);
  return answer;
}

void note_peak(Count& highest) {
  highest = std::max(highest, peak_resident_bytes());
}

bool is_cuda(const Trial& trial) {
  return trial.method->backend() == Backend::cuda;
}

/// The member `batch` of a row whose spec asks for it.
json batch_json(const Measurement& m, const Trial& trial, int batch_runs) {
  if (batch_runs == 0) return json::object();
  const auto batch = time_in_batch(trial, batch_runs);
  const auto each = batch.seconds / batch.runs;
  return {{"batch",
           {{"runs", batch.runs},
            {"seconds", each},
            {"launch_bound", summarise(m.samples).median > kLaunchBound * each}}}};
}

/// Seconds of one more preparation, that of a CUDA method until the device is idle.
double seconds_to_prepare(const Trial& trial) {
  std::unique_ptr<Prepared> prepared;
  return timed([&] {
    prepared = retensor::prepare(*trial.method, *trial.problem, trial.params);
    if (!is_cuda(trial)) return;
    if (const auto fault = device::fault(); !fault.empty()) throw DeviceError(fault);
  });
}

/// Prepares each trial that is ok until it was prepared `count` times, in rounds of one each;
/// returns their seconds. A trial that throws has the status of its error and no samples any more.
std::vector<std::vector<double>> prepare_again(const std::vector<Trial>& trials, int count,
                                               std::vector<Measurement>& measured) {
  std::vector<std::vector<double>> seconds;
  for (const auto& m : measured) seconds.push_back({m.prepare_seconds});
  for (int round = 1; round < count; ++round)
    for (std::size_t k = 0; k < trials.size(); ++k) {
      auto& m = measured[k];
      if (m.status != name(Status::ok)) continue;
      const auto error = guarded([&] {
        seconds[k].push_back(seconds_to_prepare(trials[k]));
        return json();
      });
      if (error.is_null()) continue;
      m.status = error["status"];
      m.reason = error["reason"];
      m.samples.clear();
      m.stages.clear();
    }
  return seconds;
}

/// What the device says after a CUDA method did not end well.
std::string fault_of(const std::vector<Trial>& trials, const std::vector<Measurement>& measured) {
  for (std::size_t k = 0; k < trials.size(); ++k)
    if (is_cuda(trials[k]) && measured[k].status == name(Status::failed)) return device::fault();
  return "";
}

json ceilings(const std::string& backend) {
  auto found = backend == "cuda" ? gpu_ceilings() : cpu_ceilings();
  if (backend == "cuda" && !found.empty())
    for (auto& peak : theoretical_peaks(device::facts())) found.push_back(std::move(peak));
  return ceilings_json(found);
}

/// A tenth of the time of a case is left for what follows the runs.
Deadline deadline_of(const json& request) {
  const auto limit = std::chrono::milliseconds(request.at("timeout").get<std::int64_t>());
  return std::chrono::steady_clock::now() + limit * 9 / 10;
}

Probed probe(const json& request) {
  const auto c = case_from_json(request.at("case"));
  const auto method = foreign_method(c.method, c.params, c.foreign->precision);
  return probe_foreign(c, request.at("order"), *method, deadline_of(request));
}

}  // namespace

Bench::Bench(const WorkerSetup& setup)
    : methods_(all_methods()),
      datasets_(DatasetRegistry::load(setup.at.registry, setup.at.recipes)),
      cache_dir_(setup.at.cache),
      problems_(setup.at.cache) {
  datasets_.read_paths_in(setup.paths_in);
}

json Bench::answer(const json& request) {
  const auto what = request.at("do").get<std::string>();
  if (what == "machine") return ok("machine", machine());
  if (what == "ceilings") return ok("ceilings", ceilings(request.at("backend")));
  if (what == "facts") return ok("data", facts(request.at("dataset")));
  if (what == "shape") return ok("facts", shape(request.at("dataset")));
  if (what == "choose") return choose(case_from_json(request.at("case")));
  if (what == "load") {
    load(request.at("dataset"));
    return ok("data", data_);
  }
  if (what == "probe") {
    const auto probed = probe(request);
    auto told = ok("failed", probed.failed);
    told["declined"] = probed.declined;
    return told;
  }
  if (what == "measure") return measure(request);
  throw LogicError("unknown request to a worker: " + what);
}

const GpuState& Bench::gpu() {
  if (!gpu_) gpu_ = std::make_unique<GpuState>();
  return *gpu_;
}

/// What machine_facts() says, which machine of its model it is, and how its clocks are governed.
json Bench::machine() {
  auto facts = machine_facts();
  const bool has_gpu = facts["gpu"]["available"] == true;
  const auto identity = machine_identity(identity_form(), has_gpu ? gpu().uuid() : "");
  if (!identity.is_null()) facts["identity"] = identity;
  facts["cpu"].update(governing());
  if (has_gpu) facts["gpu"]["state"] = gpu().now();
  return facts;
}

/// Reads a header where the tensor is in the cache: a finished sweep loads nothing.
json Bench::facts(const std::string& name) const {
  const auto& dataset = datasets_.find(name);
  const auto cached = datasets_.cached_facts(dataset, cache_dir_);
  return data_object(dataset, cached.sha256, cached.dims, cached.nnz);
}

void Bench::load(const std::string& name) {
  if (name == name_) return;
  problems_.forget();
  tensor_.reset();
  name_.clear();
  load_seconds_ = timed([&] { tensor_ = datasets_.obtain(datasets_.find(name), cache_dir_); });
  data_ =
      data_object(datasets_.find(name), content_sha256(*tensor_), tensor_->dims, tensor_->nnz());
  name_ = name;
  note_peak(load_peak_);
}

json Bench::shape(const std::string& name) {
  const auto checksum = datasets_.checksum(datasets_.find(name), cache_dir_);
  auto facts = kept_facts(cache_dir_, checksum, [&] {
    load(name);
    return tensor_;
  });
  note_peak(load_peak_);
  return facts;
}

json Bench::choose(const Case& c) try {
  load(c.dataset);
  return ok("choice", choose_planned(methods_, c, tensor_, shape(c.dataset)));
} catch (const InputError& e) {
  return ended(Status::unsupported, e.what());
}

struct Bench::Round {
  TimingOptions options;
  Wish wish;
  Deadline deadline;
  std::vector<json> rows;
  std::vector<Trial> trials;
  std::vector<const PosedProblem*> posed;  ///< of each trial
  std::vector<std::size_t> places;         ///< its row
  Count peak = 0;                          ///< resident bytes, preparations aside
  std::string fault;                       ///< why the process can't go on

  explicit Round(const json& request)
      : wish{request.value("precision", 0.0), 1e-3 * request.value("at_most", 0.0)},
        deadline(deadline_of(request)) {
    options.warmup = request.at("warmup");
    options.samples = request.at("samples");
    options.seed = request.at("seed");
  }
};

json Bench::foreign_row(const Case& c, const Round& round) {
  const LoadMeter meter;
  const auto& posed = problems_.pose(c, tensor_, data_);
  const auto method = foreign_method(c.method, c.params, c.foreign->precision);
  ForeignMeasurement done;
  std::set<std::string> findings;
  const auto once = [&](const TimingOptions& how) {
    done = measure_foreign(c, posed.problem, *method, how, round.deadline);
    findings.insert(done.findings.begin(), done.findings.end());
    return std::vector{done.measurement};
  };
  const auto [measured, states] = measure_watched(
      once, round.options, round.wish,
      {is_gpu_method(c.method)}, [this]() -> auto& { return gpu(); });
  const auto& m = measured.front();
  auto row = row_body(m, {{m.prepare_seconds}, load_seconds_, done.oracle_seconds, load_peak_});
  row["arithmetic"] = arithmetic_json(method->precision(*posed.problem, {}));
  row["foreign"] = done.details;
  row["findings"] = findings;
  if (!m.samples.empty()) row.update(sampling_json(m, round.wish.precision));
  if (!m.samples.empty()) row["cpu_load"] = meter.load();
  if (!states.front().is_null()) row["gpu_state"] = states.front();
  return row;
}

/// The row of a case that is not to be measured with the others; else null, and the case is a
/// trial.
json Bench::pose(const Case& c, Round& round) {
  if (c.foreign) return foreign_row(c, round);
  const auto& method = methods_.find(c.method);
  auto& posed = problems_.pose(c, tensor_, data_);
  const Trial trial{&method, posed.problem.get(), method.params().resolve(c.params)};
  const auto support = supports(method, *trial.problem, trial.params);
  if (!support.ok) return ended(Status::unsupported, support.reason);
  posed.provide_oracle();
  round.trials.push_back(trial);
  round.posed.push_back(&posed);
  round.places.push_back(round.rows.size());
  return json();
}

json Bench::measure(const json& request) {
  Round round(request);
  bool library_failed = false;
  round.peak = load_peak_;
  reset_peak_resident();
  problems_.begin_request();
  for (const auto& text : request.at("cases")) {
    const auto c = case_from_json(text);
    load(c.dataset);
    round.options.order = c.order;
    round.options.cache = c.cache;
    round.rows.push_back(guarded([&] { return pose(c, round); }));
    if (c.foreign && c.foreign->is_library && !is_ok(round.rows.back())) library_failed = true;
  }
  problems_.forget_others();
  note_peak(round.peak);  // of the oracles: each preparation begins a mark of its own
  measure_posed(request, round);
  auto answer = ok("rows", round.rows);
  if (round.fault.empty() && library_failed)
    round.fault = "an external library failed in this process";
  if (!round.fault.empty()) answer["unfit"] = round.fault;
  return answer;
}

void Bench::measure_posed(const json& request, Round& round) {
  const auto& trials = round.trials;
  const auto on_gpu = transformed(trials, is_cuda);
  const auto once = [&](const TimingOptions& how) { return retensor::measure(trials, how); };
  const LoadMeter meter;
  auto [measured, states] = measure_watched(
      once, round.options, round.wish, on_gpu, [this]() -> auto& { return gpu(); });
  const auto load = meter.load();
  const auto preparations = prepare_again(trials, request.at("preparations"), measured);
  note_peak(round.peak);
  for (std::size_t k = 0; k < measured.size(); ++k) {
    const auto& m = measured[k];
    const auto& [method, problem, params] = trials[k];
    auto& row = round.rows[round.places[k]];
    row = row_body(m, {preparations[k], load_seconds_, round.posed[k]->oracle_seconds, round.peak});
    row["arithmetic"] = arithmetic_json(method->precision(*problem, params));
    if (!m.samples.empty()) row["cpu_load"] = load;
    if (is_ok(row)) {
      row.update(sampling_json(m, round.wish.precision));
      row.update(batch_json(m, trials[k], request.value("batch", 0)));
    }
    if (!states[k].is_null()) row["gpu_state"] = states[k];
  }
  round.fault = fault_of(trials, measured);
}

void Bench::run_profiled(const Case& c) {
  load(c.dataset);
  const auto& method = methods_.find(c.method);
  const Problem problem(c.problem, tensor_);
  retensor::run_profiled({&method, &problem, method.params().resolve(c.params)});
}

}  // namespace retensor::driver
