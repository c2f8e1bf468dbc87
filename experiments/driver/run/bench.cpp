// The child's side of a worker: loads one data set at a time, keeps the problems of the last
// request with their oracles, and measures. Oracles are kept on disk too, so that the process that
// takes over after a death does not compute them again.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <map>
#include <new>
#include <set>

#include "common/advise/trial.hpp"
#include "common/core/error.hpp"
#include "common/core/hash.hpp"
#include "common/decompose/text_params.hpp"
#include "common/device/device.hpp"
#include "common/io/cache.hpp"
#include "common/machine/ceilings.hpp"
#include "common/machine/machine.hpp"
#include "common/measure/batch.hpp"
#include "common/measure/statistics.hpp"
#include "common/measure/timing.hpp"
#include "common/method/registry.hpp"
#include "common/run/all_modes.hpp"
#include "experiments/driver/data/datasets.hpp"
#include "experiments/driver/data/facts.hpp"
#include "experiments/driver/run/foreign/measure.hpp"
#include "experiments/driver/run/gpu_state.hpp"
#include "experiments/driver/run/identity.hpp"
#include "experiments/driver/run/noise.hpp"
#include "experiments/driver/run/provenance.hpp"
#include "experiments/driver/run/worker.hpp"
#include "experiments/driver/spec/auto_method.hpp"

namespace retensor::driver {
namespace fs = std::filesystem;
using nlohmann::json;

namespace {

/// Clocks that drift further than this flag their row.
constexpr double kClockDrift = 0.02;
constexpr double kMostSamples = 100'000;
/// A run that takes so much longer alone than in a batch waits for its launch.
constexpr double kLaunchBound = 1.2;
/// Samples that a hot GPU gave are taken again as often.
constexpr int kMostRepetitions = 2;

/// The answer of `work`, or the status of the error that ended it.
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

/// Seconds that `work` takes.
double timed(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

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

/// What the check of a result allowed.
json arithmetic_json(const reference::Precision& p) {
  return {{"operand_eps", p.operand_eps},
          {"roundings", p.roundings},
          {"accumulate_eps", p.accumulate_eps}};
}

/// The kernel counts resident pages a thread at a time, so that a mark can lie below one before it.
Count sound_growth(Count bytes) {
  return bytes > std::numeric_limits<Count>::max() / 2 ? 0 : bytes;
}

/// The part of a row that a measurement gives (experiments/schema); `preparations` in seconds, the
/// one of the measurement first.
json row_body(const Measurement& m, const std::vector<double>& preparations, double load_seconds,
              double oracle_seconds, Count worker_bytes) {
  json row = ended(status_from_name(m.status), m.reason);
  row["phases"] = {
      {"load", load_seconds}, {"oracle", oracle_seconds},        {"prepare", m.prepare_seconds},
      {"run", m.samples},     {"stages", stages_json(m.stages)}, {"fetch", m.fetch_seconds}};
  if (m.status == name(Status::ok) && preparations.size() > 1) {
    row["phases"]["preparations"] = preparations;
    row["phases"]["prepare"] = summarise(preparations).median;
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
                      {"worker_peak_bytes", worker_bytes}};
  row["clock_drift"] = m.clock_drift;
  row["clock_flag"] = std::abs(m.clock_drift) > kClockDrift;
  if (m.samples.empty()) return row;
  const auto summary = summarise(m.samples);
  row["stats"] = stats_json(summary);
  row["rates"] = {{"gflops", m.work.flops / summary.median * 1e-9},
                  {"gbytes", m.work.bytes / summary.median * 1e-9}};
  return row;
}

/// Narrowness of the interval of the median as a share of it (0: any), and the seconds for it.
struct Wish {
  double precision = 0, at_most = 0;
};

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

using Measure = std::function<std::vector<Measurement>(const TimingOptions&)>;

/// Measures, and again with more samples until the interval of each median is as narrow as asked
/// for or the time is over. Each time methods are prepared anew; all samples count.
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
    for (std::size_t k = 0; k < more.size(); ++k) {
      auto& all = measured[k];
      if (all.status != name(Status::ok)) continue;
      if (more[k].status != name(Status::ok)) {
        all = more[k];
        continue;
      }
      all.samples.insert(all.samples.end(), more[k].samples.begin(), more[k].samples.end());
      all.stages.insert(all.stages.end(), more[k].stages.begin(), more[k].stages.end());
      all.clock_drift = std::max(all.clock_drift, more[k].clock_drift);
    }
  }
  return measured;
}

/// The member `sampling` of a row whose spec asks for a precision.
json sampling_json(const Measurement& m, double precision) {
  if (precision <= 0) return json::object();
  const auto reached = relative_width(m);
  return {{"sampling",
           {{"precision", precision},
            {"reached", reached},
            {"stopped_by", reached <= precision ? "precision" : "limit"}}}};
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
    if (trial.method->backend() != Backend::cuda) return;
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
    if (trials[k].method->backend() == Backend::cuda && measured[k].status == name(Status::failed))
      return device::fault();
  return "";
}

class Bench {
 public:
  explicit Bench(const WorkerSetup& setup)
      : methods_(all_methods()),
        datasets_(DatasetRegistry::load(setup.at.registry, setup.at.recipes)),
        cache_dir_(setup.at.cache) {}

  json answer(const json& request) {
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
    if (what == "probe") return ok("failed", probe(request));
    if (what == "measure") return measure(request);
    throw LogicError("unknown request to a worker: " + what);
  }

  void run_profiled(const Case& c);

 private:
  struct Posed {
    std::shared_ptr<const Problem> problem;
    double oracle_seconds = 0;
    bool has_oracle = false;
  };

  static json ok(const char* member, json content) {
    auto answer = ended(Status::ok);
    answer[member] = std::move(content);
    return answer;
  }

  static json ceilings(const std::string& backend) {
    auto found = backend == "cuda" ? gpu_ceilings() : cpu_ceilings();
    if (backend == "cuda" && !found.empty())
      for (auto& peak : theoretical_peaks(device::facts())) found.push_back(std::move(peak));
    json list = json::array();
    for (const auto& c : found)
      list.push_back(
          {{"what", c.what}, {"value", c.value}, {"unit", c.unit}, {"detail", c.detail}});
    return list;
  }

  json machine();
  GpuState& gpu();
  json facts(const std::string& name) const;
  json shape(const std::string& name);
  void load(const std::string& name);
  json choose(Case c);
  json measure(const json& request);
  std::pair<std::vector<Measurement>, std::vector<json>> measure_watched(
      const std::vector<Trial>& trials, const TimingOptions& options, const Wish& wish);
  static json probe(const json& request);
  json foreign_row(const Case& c, const Posed& posed, const TimingOptions& options,
                   const Wish& wish, Deadline deadline);
  json watched(const std::function<void()>& work);
  Posed& pose(const Case& c, std::map<std::string, Posed>& kept);
  void provide_oracle(Posed& posed, const std::string& key) const;
  static void keep(const reference::Expected& oracle, const fs::path& path);
  std::string problem_key(const Case& c) const;
  static void note_peak(Count& highest) { highest = std::max(highest, peak_resident_bytes()); }

  Registry methods_;
  DatasetRegistry datasets_;
  std::string cache_dir_;
  std::unique_ptr<GpuState> gpu_;  ///< made when first needed
  std::string name_;
  std::shared_ptr<const Coo> tensor_;
  json data_;
  double load_seconds_ = 0;
  Count load_peak_ =
      0;  ///< resident bytes while the data set was loaded and its facts were counted
  std::map<std::string, Posed> problems_;  ///< of the last request, by problem_key
};

GpuState& Bench::gpu() {
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
  problems_.clear();
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

/// The case with what the planner takes for `auto`, and what it expects.
json Bench::choose(Case c) try {
  load(c.dataset);
  const auto asked = method_of_spec(methods_, kAutoMethod).params().resolve(c.params);
  advise::Wish wish{static_cast<double>(asked.integer("calls"))};
  if (const auto error = asked.real("error"); error > 0) wish.error = error;
  const auto& machine = asked.word("machine");
  const auto allowed = [&](const Method& method) {
    return machine == "any" || (machine == "cpu") == (method.backend() == Backend::cpu);
  };
  const auto facts = shape(c.dataset);
  const auto settled =
      asked.flag("trial")
          ? advise::choose_by_trial(methods_, Problem(c.problem, tensor_), facts, wish, allowed)
          : advise::Settled{advise::choose(methods_, Problem::outline(c.problem, tensor_), facts,
                                           wish, allowed)};
  const auto& choice = settled.choice;
  const auto params = choice.method->params().resolve(cpd::params_in(choice.params));
  c.method = choice.method->id();
  c.params = {params.all().begin(), params.all().end()};
  json executed = {{"chosen_by", name_of_auto({asked.all().begin(), asked.all().end()})},
                   {"expected_prepare", fmt::format("{:.3g} s", choice.forecast.prepare_seconds())},
                   {"expected_run", fmt::format("{:.3g} s", choice.forecast.run_seconds())},
                   {"trial", settled.trial.empty() ? "none" : settled.trial},
                   {"trial_time", fmt::format("{:.3g} s", settled.seconds)}};
  return ok("choice", {{"case", driver::to_json(c, json::object())}, {"executed", executed}});
} catch (const InputError& e) {
  return ended(Status::unsupported, e.what());
}

/// Everything that the oracle depends on, the code that computes it included.
std::string Bench::problem_key(const Case& c) const {
  auto identity = driver::to_json(c, data_);
  for (const auto* member : {"artifact", "method", "params", "foreign", "order", "cache", "launch"})
    identity.erase(member);
  return sha256_hex(identity.dump() + provenance().common);
}

Bench::Posed& Bench::pose(const Case& c, std::map<std::string, Posed>& kept) {
  const auto key = problem_key(c);
  if (auto known = problems_.extract(key)) kept.insert(std::move(known));
  auto& posed = kept[key];
  if (!posed.problem) posed.problem = std::make_shared<const Problem>(c.problem, tensor_);
  return posed;
}

void Bench::provide_oracle(Posed& posed, const std::string& key) const {
  if (posed.has_oracle) return;
  const auto path = fs::path(oracle_folder(cache_dir_, data_["sha256"])) / key;
  posed.oracle_seconds = timed([&] {
    try {
      posed.problem->set_oracle(reference::Expected::load(path.string()));
    } catch (const Error&) {
      // Missing or damaged: computed again and written anew.
      keep(posed.problem->oracle(), path);
    }
  });
  posed.has_oracle = true;
}

/// An oracle that can't be kept (full disk) costs time after a death and nothing else.
void Bench::keep(const reference::Expected& oracle, const fs::path& path) {
  const auto part = fmt::format("{}.{}.part", path.string(), getpid());
  std::error_code ignored;
  try {
    fs::create_directories(path.parent_path());
    oracle.save(part);
    fs::rename(part, path);
  } catch (const Error&) {
    fs::remove(part, ignored);
  } catch (const fs::filesystem_error&) {
    fs::remove(part, ignored);
  }
}

/// A tenth of the time of a case is left for what follows the runs.
Deadline deadline_of(const json& request) {
  const auto limit = std::chrono::milliseconds(request.at("timeout").get<std::int64_t>());
  return std::chrono::steady_clock::now() + limit * 9 / 10;
}

json Bench::probe(const json& request) {
  const auto c = case_from_json(request.at("case"));
  const auto method = foreign_method(c.method, c.params, c.foreign->precision);
  return probe_foreign(c, request.at("order"), *method, deadline_of(request));
}

json Bench::foreign_row(const Case& c, const Posed& posed, const TimingOptions& options,
                        const Wish& wish, Deadline deadline) {
  const LoadMeter meter;
  const auto method = foreign_method(c.method, c.params, c.foreign->precision);
  ForeignMeasurement done;
  std::set<std::string> findings;
  const auto once = [&](const TimingOptions& how) {
    done = measure_foreign(c, posed.problem, *method, how, deadline);
    findings.insert(done.findings.begin(), done.findings.end());
    return std::vector{done.measurement};
  };
  const auto run = [&] {
    findings.clear();
    done.measurement = measure_precisely(once, options, wish).front();
  };
  json state, repeated = json::array();
  for (int attempt = 0; attempt <= kMostRepetitions; ++attempt) {
    if (!is_gpu_method(c.method)) {
      run();
      break;
    }
    state = watched(run);
    const auto slowed_by = brakes(state);
    const auto& samples = done.measurement.samples;
    if (slowed_by.empty() || samples.empty() || attempt == kMostRepetitions) break;
    repeated.push_back({{"slowed_by", slowed_by}, {"median", summarise(samples).median}});
  }
  if (!repeated.empty()) state["repeated"] = repeated;
  const auto& m = done.measurement;
  auto row = row_body(m, {m.prepare_seconds}, load_seconds_, done.oracle_seconds, load_peak_);
  row["arithmetic"] = arithmetic_json(method->precision(*posed.problem, {}));
  row["foreign"] = done.details;
  row["findings"] = findings;
  if (!m.samples.empty()) row.update(sampling_json(m, wish.precision));
  if (!m.samples.empty()) row["cpu_load"] = meter.load();
  if (!state.is_null()) row["gpu_state"] = state;
  return row;
}

/// What NVML says of the GPU while `work` is done.
json Bench::watched(const std::function<void()>& work) {
  const auto before = gpu().now();
  const auto spent = timed(work);
  return between(before, gpu().now(), spent);
}

/// measure() with what NVML says of the GPU meanwhile: null for CPU methods. Where heat or the
/// hardware slowed the GPU down it is measured again; `repeated` keeps what came out before.
std::pair<std::vector<Measurement>, std::vector<json>> Bench::measure_watched(
    const std::vector<Trial>& trials, const TimingOptions& options, const Wish& wish) {
  std::vector<json> states(trials.size());
  const auto once = [&](const TimingOptions& how) { return retensor::measure(trials, how); };
  const auto is_cuda = [](const Trial& t) { return t.method->backend() == Backend::cuda; };
  if (std::none_of(trials.begin(), trials.end(), is_cuda))
    return {measure_precisely(once, options, wish), std::move(states)};
  std::vector<json> repeated(trials.size(), json::array());
  for (int attempt = 0;; ++attempt) {
    std::vector<Measurement> measured;
    const auto state = watched([&] { measured = measure_precisely(once, options, wish); });
    const auto slowed_by = brakes(state);
    const bool again = !slowed_by.empty() && attempt < kMostRepetitions;
    for (std::size_t k = 0; k < trials.size(); ++k) {
      if (!is_cuda(trials[k])) continue;
      if (again && !measured[k].samples.empty())
        repeated[k].push_back(
            {{"slowed_by", slowed_by}, {"median", summarise(measured[k].samples).median}});
      states[k] = state;
      if (!repeated[k].empty()) states[k]["repeated"] = repeated[k];
    }
    if (!again) return {std::move(measured), std::move(states)};
  }
}

json Bench::measure(const json& request) {
  const auto deadline = deadline_of(request);
  std::vector<json> rows;
  std::vector<Trial> trials;
  std::vector<std::pair<std::size_t, const Posed*>> places;  // of each trial: row and problem
  std::map<std::string, Posed> kept;
  TimingOptions options;
  bool library_failed = false;
  Count peak = load_peak_;
  reset_peak_resident();
  options.warmup = request.at("warmup");
  options.samples = request.at("samples");
  options.seed = request.at("seed");
  const Wish wish{request.value("precision", 0.0), 1e-3 * request.value("at_most", 0.0)};
  for (const auto& text : request.at("cases")) {
    const auto c = case_from_json(text);
    load(c.dataset);
    options.order = c.order;
    options.cache = c.cache;
    rows.push_back(guarded([&] {
      if (c.foreign) return foreign_row(c, pose(c, kept), options, wish, deadline);
      const auto& method = methods_.find(c.method);
      auto& posed = pose(c, kept);
      const Trial trial{&method, posed.problem.get(), method.params().resolve(c.params)};
      const auto support = supports(method, *trial.problem, trial.params);
      if (!support.ok) return ended(Status::unsupported, support.reason);
      provide_oracle(posed, problem_key(c));
      trials.push_back(trial);
      places.emplace_back(rows.size(), &posed);
      return json();
    }));
    if (c.foreign && c.foreign->is_library && !is_ok(rows.back())) library_failed = true;
  }
  problems_ = std::move(kept);
  note_peak(peak);  // of the oracles: each preparation begins a mark of its own
  const LoadMeter meter;
  auto [measured, states] = measure_watched(trials, options, wish);
  const auto load = meter.load();
  const auto preparations = prepare_again(trials, request.at("preparations"), measured);
  note_peak(peak);
  for (std::size_t k = 0; k < measured.size(); ++k) {
    auto& row = rows[places[k].first];
    row = row_body(measured[k], preparations[k], load_seconds_, places[k].second->oracle_seconds,
                   peak);
    const auto& [method, problem, params] = trials[k];
    row["arithmetic"] = arithmetic_json(method->precision(*problem, params));
    if (!measured[k].samples.empty()) row["cpu_load"] = load;
    if (is_ok(row)) {
      row.update(sampling_json(measured[k], wish.precision));
      row.update(batch_json(measured[k], trials[k], request.value("batch", 0)));
    }
    if (!states[k].is_null()) row["gpu_state"] = states[k];
  }
  auto answer = ok("rows", rows);
  if (const auto fault = fault_of(trials, measured); !fault.empty()) answer["unfit"] = fault;
  if (library_failed) answer["unfit"] = "a library from outside failed in this process";
  return answer;
}

/// The row that is to be profiled has been checked already.
void Bench::run_profiled(const Case& c) {
  load(c.dataset);
  const auto& method = methods_.find(c.method);
  const Problem problem(c.problem, tensor_);
  retensor::run_profiled({&method, &problem, method.params().resolve(c.params)});
}

/// An allocation that fails in a thread can't be caught where the request is answered.
[[noreturn]] void end_of_process() {
  try {
    if (const auto error = std::current_exception()) std::rethrow_exception(error);
  } catch (const std::bad_alloc&) {
    _exit(kOomExit);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "uncaught: %s\n", e.what());
  } catch (...) {
    std::fputs("uncaught exception of unknown type\n", stderr);
  }
  std::abort();
}

/// RLIMIT_DATA counts private writable memory alone: the address space that a CUDA context reserves
/// without using it is no reason to call a case out of memory.
void limit_memory(Count bytes) {
  const rlimit limit{bytes, bytes};
  if (bytes > 0 && setrlimit(RLIMIT_DATA, &limit) != 0)
    throw SystemError("the memory limit of a worker can't be set");
}

bool read_line(int socket, std::string& buffer, std::string& line) {
  std::array<char, 65536> chunk{};
  for (;;) {
    const auto end = buffer.find('\n');
    if (end != std::string::npos) {
      line = buffer.substr(0, end);
      buffer.erase(0, end + 1);
      return true;
    }
    const auto n = recv(socket, chunk.data(), chunk.size(), 0);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    buffer.append(chunk.data(), static_cast<std::size_t>(n));
  }
}

void write_line(int socket, const json& answer) {
  const auto text = answer.dump(-1, ' ', false, json::error_handler_t::replace) + '\n';
  for (std::size_t sent = 0; sent < text.size();) {
    const auto n = send(socket, text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw SystemError("the driver is gone");
    sent += static_cast<std::size_t>(n);
  }
}

}  // namespace

std::string oracle_folder(const std::string& cache_dir, const std::string& data_sha256) {
  return (fs::path(cache_dir) / "oracle" / data_sha256).string();
}

int profiled_main(const WorkerSetup& setup, const std::string& request_path) {
  std::ifstream in(request_path);
  const auto request = json::parse(in);
  alarm(request.at("limit").get<unsigned>());
  Bench(setup).run_profiled(case_from_json(request.at("case")));
  return 0;
}

int worker_main(const WorkerSetup& setup, int socket) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  std::signal(SIGXFSZ, SIG_IGN);  // a file that may not grow is an error of the call that writes
  limit_memory(setup.memory_limit);
  std::set_terminate(end_of_process);

  std::unique_ptr<Bench> bench;
  std::string buffer, line;
  while (read_line(socket, buffer, line)) {
    write_line(socket, guarded([&] {
                 if (!bench) bench = std::make_unique<Bench>(setup);
                 return bench->answer(json::parse(line));
               }));
  }
  return 0;
}

}  // namespace retensor::driver
