#include "experiments/driver/run/foreign/measure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "common/core/rng.hpp"
#include "common/core/text.hpp"
#include "common/measure/statistics.hpp"
#include "common/run/all_modes.hpp"
#include "experiments/driver/run/progress.hpp"

namespace retensor::driver {
using nlohmann::json;

namespace {

constexpr int kPings = 10;
constexpr std::size_t kMostChecked = 6;  ///< runs whose results are compared with an oracle
/// What the outer time of a step may differ by beside the slowest empty step.
constexpr double kSlackSeconds = 5e-5, kSlackShare = 0.05;
/// Writing a result varies; more than this share of it is work that was still going on.
constexpr double kResultShare = 0.5;
/// Loading operands is suspicious where it takes longer than this many runs, and than reading and
/// copying so many bytes does.
constexpr double kRunsToLoad = 5, kSlowestLoad = 1e-3, kSlowestBytes = 1e9;

double middle(const std::vector<double>& seconds) {
  return summarise(seconds).median;
}

std::uint64_t unknown_seed() {
  std::random_device device;
  return (std::uint64_t{device()} << 31) ^ device();  // fits the signed numbers of JSON readers
}

/// The values of the second tensor come from a stream of their own.
constexpr std::uint64_t kStreamSecond = 3;

/// The second tensor of one round: the coordinates stay. Null where the operation has none.
std::shared_ptr<const Coo> round_second(const Problem& posed, std::uint64_t seed) {
  if (posed.operation() != Operation::tew && posed.operation() != Operation::contraction)
    return nullptr;
  auto second = std::make_shared<Coo>(posed.y());
  second->values =
      draw_values(posed.spec().operands, posed.dtype(), second->nnz(), seed, kStreamSecond);
  return second;
}

/// The problem with the operands of one round.
Problem round_problem(const std::shared_ptr<const Problem>& posed, std::uint64_t seed) {
  auto spec = posed->spec();
  spec.values = ValueModel::stored;
  spec.seed = seed;
  if (spec.operation == Operation::ts)  // a scalar that both types hold
    spec.scalar = static_cast<float>(0.5 + CounterRng(seed).uniform(0));
  return {spec, std::shared_ptr<const Coo>(posed, &posed->x()), round_second(*posed, seed)};
}

/// What the steps of all rounds took, as seen from here.
struct Seen {
  double read = 0, prepare = 0, ping = 0;
  std::vector<double> operands, run, result, result_again;
  std::vector<double> said;  ///< seconds of each run in the code's own words, where it tells
};

class Referee {
 public:
  Referee(const Case& c, std::shared_ptr<const Problem> posed, const Method& method,
          const TimingOptions& options)
      : case_(c), posed_(std::move(posed)), method_(method), options_(options) {
    choose_checked();
  }

  ForeignMeasurement measure(Deadline deadline) {
    try {
      const auto params = method_.params().resolve(case_.params);
      if (const auto support = supports(method_, *posed_, params); !support.ok)
        throw ForeignFault(Status::unsupported, support.reason);
      if (options_.cache != Cache::warm)
        throw ForeignFault(Status::unsupported, "external code runs only with `cache: warm`");
      run_all(deadline);
      check(method_.precision(*posed_, params));
      judge_times();
    } catch (const ForeignFault& fault) {
      fail(fault.status(), fault.what());
    } catch (const OutOfMemory& e) {
      fail(Status::oom, e.what());
    } catch (const InputError& e) {
      fail(Status::unsupported, e.what());
    } catch (const std::bad_alloc&) {
      fail(Status::oom, "the host's memory does not suffice");
    } catch (const std::exception& e) {
      fail(Status::failed, e.what());
    }
    describe();
    return std::move(out_);
  }

 private:
  int rounds() const { return 1 + options_.warmup + options_.samples; }
  bool timed(int round) const { return round > options_.warmup; }
  std::uint64_t seed_of(int round) const { return seed_ + static_cast<std::uint64_t>(round); }

  void choose_checked();
  void run_all(Deadline deadline);
  void run_round(ForeignRun& run, int round);
  void check(const reference::Precision& precision);
  /// By how many seconds honest times of a run may differ.
  double allowed() const { return seen_.ping + kSlackSeconds + kSlackShare * middle(seen_.run); }
  bool charge_waits();
  void doubt_loads();
  void judge_times();
  void describe();
  void fail(Status status, const std::string& reason);

  const Case& case_;
  const std::shared_ptr<const Problem> posed_;
  const Method& method_;
  const TimingOptions& options_;
  const std::uint64_t seed_ = unknown_seed();
  std::set<int> checked_;
  std::map<int, Result> results_;
  Seen seen_;
  bool own_times_ = false;
  ForeignMeasurement out_;
};

/// The first run, the last, and others that nobody can tell before.
void Referee::choose_checked() {
  checked_ = {0, rounds() - 1};
  const CounterRng rng(seed_);
  const auto all = static_cast<std::uint64_t>(rounds());
  for (std::uint64_t k = 0; checked_.size() < std::min<std::size_t>(kMostChecked, all); ++k)
    checked_.insert(static_cast<int>(rng.below(k, all)));
}

void Referee::run_all(Deadline deadline) {
  const auto code = foreign_code(*case_.foreign);
  out_.details["sha256"] = code.sha256;
  const auto run = code.is_library ? load_library(case_, code, *posed_)
                                   : start_program(case_, code, *posed_, deadline);
  seen_.read = run->read().seconds;
  const auto prepared = run->prepare();
  seen_.prepare = prepared.seconds;
  auto& m = out_.measurement;
  m.prepare_seconds = prepared.seconds;
  const auto bytes = [&](const char* member) {
    return static_cast<Count>(number_said(prepared.said, member).value_or(0));
  };
  m.footprint.format_bytes = bytes("format_bytes");
  m.footprint.device_bytes = bytes("device_bytes");
  const auto executed = prepared.said.value("executed", json::object());
  for (const auto& [name, value] : executed.items())
    m.executed[name] = value.is_string() ? value.get<std::string>() : value.dump();
  for (int k = 0; k < kPings; ++k) seen_.ping = std::max(seen_.ping, run->ping().seconds);
  for (int round = 0; round < rounds(); ++round) run_round(*run, round);
  m.fetch_seconds = seen_.result.back();
}

void Referee::run_round(ForeignRun& run, int round) {
  const auto problem = round_problem(posed_, seed_of(round));
  const auto loaded = run.operands(operands_of(problem));
  const auto ran = run.run();
  auto result = empty_result(*posed_);
  const auto fetched = run.result(result);
  const auto again = timed(round) ? run.result(result) : fetched;
  if (checked_.count(round) != 0) results_.emplace(round, std::move(result));
  if (!timed(round)) return;
  seen_.operands.push_back(loaded.seconds);
  seen_.run.push_back(ran.seconds);
  seen_.result.push_back(fetched.seconds);
  seen_.result_again.push_back(again.seconds);
  if (const auto said = number_said(ran.said, "seconds")) seen_.said.push_back(*said);
  StageTimes stages;
  const auto told = ran.said.value("stages", json::object());
  for (const auto& stage : told.items())
    stages.emplace_back(stage.key(), number_said(told, stage.key().c_str()).value_or(0));
  out_.measurement.stages.push_back(std::move(stages));
}

void Referee::check(const reference::Precision& precision) {
  auto& m = out_.measurement;
  const auto start = std::chrono::steady_clock::now();
  for (const auto& [round, result] : results_) {
    const auto problem = round_problem(posed_, seed_of(round));
    auto report = problem.oracle().check(result, precision);
    const bool first = round == 0;
    if (first || !report.ok || report.error_over_bound > m.check.error_over_bound) m.check = report;
    if (!report.ok)
      throw ForeignFault(Status::wrong,
                         fmt::format("run {} of {}, each with operands of its own: {}", round + 1,
                                     rounds(), report.reason));
  }
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
  out_.oracle_seconds = spent.count();
}

/// What is still going on after the answer to a run makes the first fetch of its result wait.
/// \return whether the runs were charged with these waits
bool Referee::charge_waits() {
  std::vector<double> waits;
  for (std::size_t k = 0; k < seen_.run.size(); ++k)
    waits.push_back(seen_.result[k] - seen_.result_again[k]);
  // Other load makes some of the fetches wait; work that is hidden makes nearly all.
  const auto hidden = summarise(waits).q1;
  if (hidden <= allowed() + kResultShare * middle(seen_.result_again)) return false;
  out_.findings.push_back(fmt::format(
      "work goes on after the answer to a run: the first `result` takes {} longer than a second "
      "one; the time counts",
      duration_text(hidden)));
  auto& samples = out_.measurement.samples;
  for (std::size_t k = 0; k < samples.size(); ++k) samples[k] += std::max(0.0, waits[k]);
  return true;
}

/// Loading that takes longer than its bytes and than the runs need may be the runs' work.
void Referee::doubt_loads() {
  const auto run = middle(seen_.run), load = middle(seen_.operands);
  double bytes = 0;
  for (const auto& matrix : operands_of(*posed_)) bytes += static_cast<double>(matrix.bytes());
  const auto slow = kSlowestLoad + bytes / kSlowestBytes + seen_.ping;
  if (load > slow && load > kRunsToLoad * run)
    out_.findings.push_back(fmt::format(
        "loading operands takes {}, {:.1f} times a run: work may be done outside the timed part",
        duration_text(load), load / run));
}

/// The code's own times count where they agree with what was seen; else what was seen.
void Referee::judge_times() {
  auto& samples = out_.measurement.samples;
  samples = seen_.run;
  doubt_loads();
  if (charge_waits() || seen_.said.size() != samples.size()) return;
  const auto run = middle(seen_.run), said = middle(seen_.said);
  if (std::abs(run - said) <= allowed()) {
    own_times_ = true;
    samples = seen_.said;
    return;
  }
  out_.findings.push_back(
      fmt::format("a run takes {} by its own clock and {} by ReTensor's, where an empty step takes "
                  "at most {}; ReTensor's time counts",
                  duration_text(said), duration_text(run), duration_text(seen_.ping)));
}

void Referee::describe() {
  auto& m = out_.measurement;
  if (m.status == name(Status::ok)) m.work = work_model(*posed_);
  out_.details.update({{"seed", seed_},
                       {"checked", results_.size()},
                       {"times", own_times_ ? "own" : "outside"},
                       {"empty_step", seen_.ping},
                       {"outside",
                        {{"read", seen_.read},
                         {"prepare", seen_.prepare},
                         {"operands", seen_.operands},
                         {"run", seen_.run},
                         {"result", seen_.result},
                         {"result_again", seen_.result_again}}},
                       {"said", seen_.said}});
}

void Referee::fail(Status status, const std::string& reason) {
  out_.measurement.status = name(status);
  out_.measurement.reason = reason;
  out_.measurement.samples.clear();
  out_.measurement.stages.clear();
}

}  // namespace

std::optional<double> number_said(const json& said, const char* member) {
  const auto found = said.find(member);
  if (found == said.end()) return std::nullopt;
  const double value = found->is_number() ? found->get<double>() : -1;
  if (!(value >= 0))
    throw ForeignFault(Status::failed,
                       fmt::format("`{}`: found {}, expected a number of at least 0", member,
                                   found->dump().substr(0, 80)));
  return value;
}

ForeignMeasurement measure_foreign(const Case& c, const std::shared_ptr<const Problem>& posed,
                                   const Method& method, const TimingOptions& options,
                                   Deadline deadline) {
  return Referee(c, posed, method, options).measure(deadline);
}

}  // namespace retensor::driver
