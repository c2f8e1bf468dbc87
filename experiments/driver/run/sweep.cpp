// The loop over data sets and cases between a plan, a worker and a store.
#include "experiments/driver/run/sweep.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <type_traits>

#include "common/core/rng.hpp"
#include "experiments/driver/data/bytes.hpp"
#include "experiments/driver/data/facts.hpp"
#include "experiments/driver/run/currency.hpp"
#include "experiments/driver/run/profiler.hpp"
#include "experiments/driver/run/progress.hpp"
#include "experiments/driver/run/results.hpp"
#include "experiments/driver/run/row.hpp"
#include "experiments/driver/run/session.hpp"
#include "experiments/driver/run/store.hpp"
#include "experiments/driver/run/worker.hpp"
#include "experiments/driver/spec/methods.hpp"

namespace retensor::driver {

using nlohmann::json;

namespace {

/// Shuffles by Fisher and Yates from the counter generator: the same order on every machine.
template <class T>
void shuffle(std::vector<T>& list, const CounterRng& rng) {
  for (std::size_t k = list.size(); k > 1; --k) std::swap(list[k - 1], list[rng.below(k, k)]);
}

/// What the cases of one problem share.
std::string problem_text(const Case& c, bool with_mode) {
  auto identity = driver::to_json(c, json::object());
  for (const auto* member : {"artifact", "method", "params", "foreign", "cache", "launch"})
    identity.erase(member);
  if (!with_mode) identity.erase("mode");
  return identity.dump();
}

/// Moves the cases into groups of equal keys; groups stand in the order of their first case.
template <class KeyOf>
std::vector<std::vector<Case>> grouped(std::vector<Case> cases, const KeyOf& key_of) {
  std::vector<std::vector<Case>> groups;
  std::map<std::invoke_result_t<KeyOf, const Case&>, std::size_t> place;
  for (auto& c : cases) {
    const auto [at, fresh] = place.try_emplace(key_of(c), groups.size());
    if (fresh) groups.emplace_back();
    groups[at->second].push_back(std::move(c));
  }
  return groups;
}

std::string method_text(const Case& c) {
  const auto whole = driver::to_json(c, json::object());
  return json{whole["method"], whole["params"], whole["cache"]}.dump();
}

/// Cases of one launch.
std::vector<std::vector<Case>> scheduled(std::vector<Case> cases, std::uint64_t seed) {
  const CounterRng rng(seed);
  auto problems = grouped(
      std::move(cases), [](const Case& c) { return problem_text(c, c.order != Order::rotation); });
  shuffle(problems, rng);
  std::vector<std::vector<Case>> result;
  for (std::size_t p = 0; p < problems.size(); ++p) {
    // Without rotation a group is one case: methods differ, or their parameters do.
    auto methods = grouped(std::move(problems[p]), method_text);
    shuffle(methods, CounterRng(seed, p + 1));
    if (methods.front().front().interleaved) {
      auto& together = result.emplace_back();
      for (auto& group : methods)
        std::move(group.begin(), group.end(), std::back_inserter(together));
      continue;
    }
    for (auto& group : methods) result.push_back(std::move(group));
  }
  return result;
}

}  // namespace

std::vector<std::vector<Case>> schedule(std::vector<Case> cases, std::uint64_t seed) {
  std::vector<std::vector<Case>> result;
  // Launch by launch, so that those of a case are apart by the time that all others take.
  for (auto& launch : grouped(std::move(cases), [](const Case& c) { return c.launch; })) {
    const auto own_seed = seed ^ static_cast<std::uint64_t>(launch.front().launch) << 32;
    for (auto& group : scheduled(std::move(launch), own_seed)) result.push_back(std::move(group));
  }
  return result;
}

std::string slug(const std::string& text) {
  std::string result;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0)
      result += static_cast<char>(std::tolower(byte));
    else if (!result.empty() && result.back() != '-')
      result += '-';
  }
  if (!result.empty() && result.back() == '-') result.pop_back();
  return result;
}

std::string results_name(std::string artifact) {
  std::replace(artifact.begin(), artifact.end(), '/', '-');
  return artifact + ".jsonl";
}

std::string results_path(const json& machine, const std::string& artifact) {
  const auto name = [&](const char* part, const char* member) {
    const auto found = machine.value(part, json::object());
    return slug(found.is_object() ? found.value(member, "") : "");
  };
  auto device = name("gpu", "name");
  if (device.empty()) device = name("cpu", "model");
  if (device.empty()) device = "unknown";
  return fmt::format("out/results/{}/{}", device, results_name(artifact));
}

std::string results_file(const std::string& out, const json& machine, const std::string& artifact) {
  if (out.empty()) return results_path(machine, artifact);
  std::error_code error;
  const std::filesystem::path named = out;
  return std::filesystem::is_directory(named, error) ? named / results_name(artifact) : named;
}

namespace {

constexpr std::chrono::minutes kCeilingsLimit{5};

class Sweep {
 public:
  Sweep(const Plan& plan, const DatasetRegistry& datasets, const SweepOptions& options,
        StopSignals& stop)
      : plan_(plan),
        datasets_(datasets),
        options_(options),
        stop_(stop),
        worker_(setup(plan, options), stop),
        progress_(plan.cases, options.quiet) {
    if (options.profile || plan.measure.counters) profiler_.emplace(setup(plan, options), stop);
  }

  SweepResult run() {
    identity_form();  // a wrong word is the user's mistake, not the worker's
    const auto answer = worker_.machine(plan_.measure.timeout);
    machine_ = answer.value("machine", json{{"error", answer["reason"]}});
    result_.path = results_file(options_.out, machine_, plan_.artifact);
    store_.emplace(result_.path);
    if (store_->repaired() > 0)
      progress_.note(fmt::format("{}: cut off a torn last line of {}", result_.path,
                                 count_text(store_->repaired(), "byte")));
    try {
      for (const auto& [dataset, cases] : by_dataset())
        if (!stopped()) run_dataset(dataset, cases);
    } catch (const StoppedAtOnce&) {
      result_.stopped = true;
    }
    if (unsupported_ > 0)
      progress_.note(
          fmt::format("cases stored as unsupported on this machine: {} (--rerun tries them again)",
                      unsupported_));
    if (elsewhere_ > 0)
      progress_.note(fmt::format(
          "cases measured on another machine of this model: {} (--each-machine measures them here)",
          elsewhere_));
    progress_.end();
    if (result_.stopped) progress_.note("stopped by a signal; run the same command again to go on");
    return result_;
  }

 private:
  bool failed(Status status) const {
    const auto& expected = plan_.measure.expected;
    return status != Status::ok && std::ranges::find(expected, name(status)) == expected.end();
  }

  static WorkerSetup setup(const Plan& plan, const SweepOptions& options) {
    const bool in_double = std::ranges::any_of(
        plan.cases, [](const Case& c) { return c.problem.dtype == DType::f64; });
    return {options.at, plan.measure.memory, in_double ? DType::f64 : DType::f32};
  }

  bool stopped() {
    stop_.update();
    result_.stopped = result_.stopped || stop_.requested();
    return result_.stopped;
  }

  /// In the order of the plan.
  std::vector<std::pair<std::string, std::vector<Case>>> by_dataset() const {
    std::vector<std::pair<std::string, std::vector<Case>>> sets;
    for (auto& group : grouped(plan_.cases, [](const Case& c) { return c.dataset; }))
      sets.emplace_back(group.front().dataset, std::move(group));
    return sets;
  }

  void run_dataset(const std::string& name, const std::vector<Case>& cases);
  std::vector<Case> chosen_cases(const std::vector<Case>& cases, const json& data);
  std::vector<Case> open_cases(const std::vector<Case>& cases, const json& data);
  std::optional<Case> stored_choice(const Case& c, const json& data);
  Stored held(const Case& c, const json& row_case) const;
  void run_group(const std::vector<Case>& group, const json& data);
  void record(const Case& c, const json& data, const json& body);
  void add_probes(const Case& c, std::size_t order, json& body);
  void open_session();

  const Plan& plan_;
  const DatasetRegistry& datasets_;
  const SweepOptions& options_;
  StopSignals& stop_;
  Worker worker_;
  std::optional<Profiler> profiler_;
  Progress progress_;
  std::optional<Store> store_;
  json machine_;
  std::map<std::string, json> chosen_;  ///< by key: what `executed` says of the planner's choice
  std::optional<std::map<std::string, Row>> rows_;  ///< stored before; read for `auto` alone
  json shape_;                                      ///< of the data set that runs: Worker::shape()
  std::uint64_t data_sets_ = 0;                     ///< begun; each has an order of its own
  std::string session_;        ///< empty until the first row, so that a finished sweep adds nothing
  std::size_t elsewhere_ = 0;  ///< stored from another machine
  std::size_t unsupported_ = 0;         ///< stored as such
  std::map<std::string, json> probes_;  ///< of external code, by what they depend on
  SweepResult result_;
};

void Sweep::run_dataset(const std::string& name, const std::vector<Case>& cases) {
  worker_.restart();
  const auto facts = worker_.facts(name, plan_.measure.load_timeout());
  if (!is_ok(facts)) {
    const auto& dataset = datasets_.find(name);
    const json unknown = data_object(dataset, "", dataset.dims, dataset.nnz);
    for (const auto& c : cases) record(c, unknown, facts);
    return;
  }
  const auto& data = facts["data"];
  const auto groups = schedule(open_cases(chosen_cases(cases, data), data),
                               plan_.measure.timing.seed + data_sets_++);
  if (!groups.empty()) shape_ = worker_.shape(name, plan_.measure.load_timeout());
  for (const auto& group : groups) {
    if (stopped()) return;
    run_group(group, data);
  }
  if (options_.keep_oracles || options_.awaited.count(name) != 0) return;
  // They can be larger than the tensor and have served their purpose.
  std::error_code ignored;
  std::filesystem::remove_all(oracle_folder(options_.at.cache, data["sha256"]), ignored);
}

/// Each case once, with the planner's choice in place of `auto`; where it has none that is the row.
std::vector<Case> Sweep::chosen_cases(const std::vector<Case>& cases, const json& data) {
  std::vector<Case> chosen;
  std::set<std::string> seen;
  for (auto c : cases) {
    json executed;
    // What the planner had no choice for stays so.
    const bool refused = c.method == kAutoMethod && !options_.rerun &&
                         held(c, driver::to_json(c, data)) != Stored::nothing;
    if (refused) {
      chosen.push_back(c);
      continue;
    }
    if (const auto stored = c.method == kAutoMethod ? stored_choice(c, data) : std::nullopt) {
      c = *stored;
    } else if (c.method == kAutoMethod) {
      const auto answer = worker_.choose(c, plan_.measure.load_timeout());
      if (!is_ok(answer)) {
        record(c, data, answer);
        continue;
      }
      c = case_from_json(answer["choice"]["case"]);
      executed = answer["choice"]["executed"];
    }
    const auto key = case_key(driver::to_json(c, data));
    if (!executed.is_null()) {
      const auto before = chosen_.count(key) != 0 ? text_of(chosen_[key], "chosen_by") : "";
      executed["chosen_by"] = also_chosen_by(before, executed["chosen_by"]);
      chosen_[key] = executed;
    }
    if (seen.insert(key).second)
      chosen.push_back(std::move(c));
    else
      progress_.stored(1, 0);
  }
  return chosen;
}

/// What the planner chose for a case of `auto` before, where that row still counts here.
std::optional<Case> Sweep::stored_choice(const Case& c, const json& data) {
  if (options_.rerun) return std::nullopt;
  if (!rows_) {
    rows_.emplace();
    for (auto& row : newest_rows({result_.path}, {"executed"}))
      rows_->insert_or_assign(row.key(), std::move(row));
  }
  const auto* const row = chosen_row(*rows_, c, data);
  if (row == nullptr) return std::nullopt;
  auto chosen = case_from_json(row->row_case());
  if (held(chosen, row->row_case()) == Stored::nothing) return std::nullopt;
  return chosen;
}

Stored Sweep::held(const Case& c, const json& row_case) const {
  const auto today = is_from_outside(c) ? RowCode{c.foreign_sha256, "", ""}
                                        : code_of_case(row_case, architecture_of(machine_));
  const auto found = store_->find(case_key(row_case), today, machine_);
  return found == Stored::elsewhere && options_.each_machine ? Stored::nothing : found;
}

std::vector<Case> Sweep::open_cases(const std::vector<Case>& cases, const json& data) {
  if (options_.rerun) return cases;
  std::vector<Case> open;
  std::size_t unsupported = 0;
  for (const auto& c : cases) {
    const auto row_case = driver::to_json(c, data);
    const auto kept = held(c, row_case);
    elsewhere_ += kept == Stored::elsewhere;
    if (kept != Stored::nothing) result_.keys.insert(case_key(row_case));
    if (kept == Stored::nothing) open.push_back(c);
    if (kept == Stored::unsupported) ++unsupported;
  }
  const auto stored = cases.size() - open.size();
  result_.stored += stored;
  const auto not_ok = failed(Status::unsupported) ? unsupported : 0;
  result_.not_ok += not_ok;
  unsupported_ += unsupported;
  progress_.stored(stored, not_ok);
  return open;
}

void Sweep::run_group(const std::vector<Case>& group, const json& data) {
  open_session();
  progress_.begin(driver::to_json(group.front(), data));
  if (plan_.measure.launches > 1) worker_.restart();
  auto bodies = worker_.run(group, plan_.measure, data);
  if (profiler_)
    for (std::size_t k = 0; k < group.size(); ++k)
      bodies[k]["profile"] = profiler_->profile(group[k], bodies[k], plan_.measure.timeout);
  for (std::size_t k = 0; k < group.size(); ++k) {
    bodies[k]["facts"] =
        with_factors(shape_, group[k].problem, data["dims"].get<Dims>(),
                     is_gpu_method(group[k].method) ? Backend::cuda : Backend::cpu, machine_);
    bodies[k]["terms"] = terms_of(datasets_.find(group[k].dataset));
    if (is_from_outside(group[k])) add_probes(group[k], data["dims"].size(), bodies[k]);
    record(group[k], data, bodies[k]);
  }
}

/// What the code does on other inputs belongs to every row of it. Code that does not solve the case
/// itself is not asked.
void Sweep::add_probes(const Case& c, std::size_t order, json& body) {
  if (!is_ok(body)) return;
  const auto key = json{c.foreign_sha256,
                        c.method,
                        driver::to_json(c, nullptr)["params"],
                        name(c.problem.operation),
                        name(c.problem.dtype),
                        order}
                       .dump();
  const auto found = probes_.find(key);
  if (found == probes_.end()) probes_[key] = worker_.probe(c, order, plan_.measure.timeout);
  const auto& answer = probes_[key];
  const auto failed =
      is_ok(answer) ? answer["failed"]
                    : json::array({"the probes ended: " + answer["reason"].get<std::string>()});
  body["foreign"]["probes_failed"] = failed;
  body["foreign"]["probes_declined"] = answer.value("declined", json::array());
  for (const auto& sentence : failed) body["findings"].push_back(sentence);
}

void Sweep::record(const Case& c, const json& data, const json& body) {
  open_session();
  auto row = body;
  row["kind"] = "row";
  row["schema"] = kSchema;
  row["session"] = session_;
  row["case"] = driver::to_json(c, data);
  row["key"] = case_key(row["case"]);
  row["finished"] = utc_now();
  if (const auto choice = chosen_.find(row["key"]); choice != chosen_.end())
    row["executed"].update(choice->second);
  row["form"] = form_of(row);
  if (is_from_outside(c)) {
    row["code"] = "foreign";
    const auto ran = text_of(row.value("foreign", json::object()), "sha256");
    row["source_hash"] = ran.empty() ? c.foreign_sha256 : ran;
  } else {
    state_code(code_of_case(row["case"], architecture_of(machine_)), row);
  }
  store_->append(row);
  result_.keys.insert(row["key"]);
  const bool expected = !failed(status_of(row));
  if (!expected) ++result_.not_ok;
  progress_.done(row, expected);
}

void Sweep::open_session() {
  if (!session_.empty()) return;
  const auto line = session_line(plan_, machine_, options_.argv);
  session_ = line["session"];
  store_->append(line);
  if (!plan_.measure.ceilings) return;
  // A machine's probes take as long for short cases as for long ones.
  const auto limit = std::max<std::chrono::milliseconds>(plan_.measure.timeout, kCeilingsLimit);
  std::set<std::string> backends;
  for (const auto& c : plan_.cases) backends.insert(is_gpu_method(c.method) ? "cuda" : "cpu");
  if (field(machine_, "gpu.available") == false)
    backends.erase("cuda");  // whose cases are declined
  for (const auto& backend : backends) {
    const auto answer = worker_.ask({{"do", "ceilings"}, {"backend", backend}}, limit);
    if (is_ok(answer) && !answer["ceilings"].empty())
      store_->append({{"kind", "ceilings"},
                      {"schema", kSchema},
                      {"session", session_},
                      {"backend", backend},
                      {"ceilings", answer["ceilings"]}});
    else
      progress_.note(fmt::format("no ceilings of backend {}: {}", backend,
                                 answer["reason"].get<std::string>()));
  }
}

}  // namespace

SweepResult run_sweep(const Plan& plan, const DatasetRegistry& datasets,
                      const SweepOptions& options, StopSignals& stop) {
  return Sweep(plan, datasets, options, stop).run();
}

}  // namespace retensor::driver
