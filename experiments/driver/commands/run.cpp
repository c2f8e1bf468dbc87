// retensor run: measures the cases of specs and appends them to result files.
#include <iostream>
#include <optional>
#include <set>

#include "common/core/message.hpp"
#include "experiments/driver/commands/commands.hpp"
#include "experiments/driver/run/gpu_state.hpp"
#include "experiments/driver/run/summary.hpp"
#include "experiments/driver/spec/plan.hpp"

namespace retensor::driver {
namespace {

/// Every plan is made before the first case runs: a mistake in the last spec costs no time.
std::vector<Plan> plans_of(const std::vector<std::string>& specs, const Given& given,
                           const DatasetRegistry& datasets) {
  const EndedBySignals planning;
  const auto profile = given.profile();
  return transformed(specs, [&](const std::string& path) {
    return plan_to_measure(path, profile, datasets, given.flag("allow-foreign"));
  });
}

std::set<std::string> datasets_of(std::vector<Plan>::const_iterator plan,
                                  std::vector<Plan>::const_iterator end) {
  std::set<std::string> names;
  for (; plan != end; ++plan)
    for (const auto& c : plan->cases) names.insert(c.dataset);
  return names;
}

/// Throws InputError where no plan has a case on the data set.
void keep_dataset(const std::string& name, std::vector<Plan>& plans) {
  std::size_t kept = 0;
  for (auto& plan : plans) {
    std::erase_if(plan.cases, [&](const Case& c) { return c.dataset != name; });
    kept += plan.cases.size();
  }
  if (kept == 0) throw input_error("--dataset {}: no case of the specs uses it", name);
}

/// The clock of the GPU that --lock-clock asks for, while the object lives. Warns where it may not.
class ClockOf {
 public:
  explicit ClockOf(const Given& given) {
    if (!given.typed("lock-clock")) return;
    const int mhz = given.get<int>("lock-clock");
    if (mhz < 1) throw input_error("--lock-clock: found {}, expected MHz, such as 1500", mhz);
    gpu_.emplace();
    lock_.emplace(*gpu_, static_cast<unsigned>(mhz));
    if (!lock_->refusal().empty())
      std::cerr << "warning: the GPU's clock is not locked: " << lock_->refusal() << '\n';
  }

 private:
  std::optional<GpuState> gpu_;
  std::optional<LockedClock> lock_;
};

int run_command(const Given& given) {
  const auto specs =
      given.positionals("run: expected at least one spec (see: retensor run --help)");

  SweepOptions sweep;
  sweep.out = given.text("out");
  sweep.at = given.locations();
  sweep.rerun = given.flag("rerun");
  sweep.each_machine = given.flag("each-machine");
  sweep.profile = given.flag("profile");
  sweep.keep_oracles = given.flag("keep-oracles");
  sweep.quiet = given.flag("quiet");
  const bool as_json = given.flag("json");
  sweep.argv = given.command_line("run");

  StopSignals stop;
  const auto datasets = given.registry();
  auto plans = plans_of(specs, given, datasets);
  if (const auto name = given.text("dataset"); !name.empty()) keep_dataset(name, plans);
  const ClockOf clock(given);
  std::set<std::string> printed;
  std::size_t not_ok = 0;
  bool stopped = false;
  auto summaries = nlohmann::json::array();
  for (auto plan = plans.cbegin(); plan != plans.cend(); ++plan) {
    sweep.awaited = datasets_of(plan + 1, plans.cend());
    const auto result = run_sweep(*plan, datasets, sweep, stop);
    const auto summary = summary_of(*plan, result);
    if (!as_json && printed.insert(result.path).second) std::cout << result.path << std::endl;
    if (!as_json && !sweep.quiet) std::cerr << summary_text(summary);
    summaries.push_back(summary);
    not_ok += result.not_ok;
    if (stopped = result.stopped; stopped) break;
  }
  if (as_json) std::cout << summaries.dump(2) << '\n';
  if (stopped) return 128 + stop.first();
  return not_ok == 0 ? 0 : 1;
}

}  // namespace

Interface run_interface() {
  const Usage usage{
      "run SPEC...",
      "Runs the cases of specs that have no current row with status ok or unsupported, "
      "and prints the paths of the result files. A summary by method follows on "
      "standard error.",
      "retensor run experiments/pasta/fig4.yaml --with quick", -1};
  Options add;
  add("out", word("FILE"),
      "result file, or folder of <paper>-<artifact>.jsonl (default: out/results/<device>/)");
  add("dataset", word("NAME"), "run only the cases on this data set");
  add("rerun", flag(),
      "measure cases again that have a row. A new row that is ok replaces the old one; with "
      "--each-machine, only a row of this machine");
  add("each-machine", flag(),
      "also measure cases that have rows only from other machines of this model");
  add("profile", flag(),
      "run each measured GPU case once more under Nsight Compute and add the counters to its row, "
      "or the reason why there are none. With --rerun, also for cases that have a row. A spec with "
      "`counters` does so anyway");
  add("lock-clock", po::value<int>()->default_value(0, "")->value_name("MHZ"),
      "fix the GPU's clock at this frequency during the run, if you have the right to");
  add.oracles();
  add("allow-foreign", flag(),
      "run the external programs and libraries that the specs name; they run with your rights");
  add("quiet", flag(), "print no progress and no summary, only warnings");
  add.profile();
  add.locations();
  add.json();
  return {usage, add, run_command};
}

}  // namespace retensor::driver
