// retensor run: measures the cases of specs and appends them to result files.
#include <filesystem>
#include <iostream>
#include <set>

#include <fmt/format.h>

#include "common/core/error.hpp"
#include "common/method/registry.hpp"
#include "experiments/driver/commands/options.hpp"
#include "experiments/driver/run/sweep.hpp"
#include "experiments/driver/spec/plan.hpp"

namespace retensor::driver {
namespace {

/// Every plan is made before the first case runs: a mistake in the last spec costs no time.
std::vector<Plan> plans_of(const std::vector<std::string>& specs, const std::string& profile,
                           const DatasetRegistry& datasets) {
  const auto methods = all_methods();
  std::vector<Plan> plans;
  for (const auto& path : specs) {
    const auto spec = load_spec(path, profile);
    if (!spec.of.empty())
      throw InputError(fmt::format("{}: measures nothing, it draws the rows of {}: run that",
                                   spec.path, spec.of));
    plans.push_back(make_plan(spec, methods, datasets));
  }
  return plans;
}

std::set<std::string> datasets_of(std::vector<Plan>::const_iterator plan,
                                  std::vector<Plan>::const_iterator end) {
  std::set<std::string> names;
  for (; plan != end; ++plan)
    for (const auto& c : plan->cases) names.insert(c.dataset);
  return names;
}

}  // namespace

int run_command(const Args& args) {
  const Usage usage{"run SPEC...",
                    "Runs the cases of the specs that their result files do not hold yet and "
                    "prints the paths of those files.",
                    "retensor run experiments/pasta/fig4.yaml --with quick", -1};
  po::options_description options;
  auto add = options.add_options();
  add("out", word("FILE"),
      "result file, or folder of <paper>-<artifact>.jsonl (default: out/results/<device>/)");
  add("rerun", flag(), "measure again what is stored");
  add("profile", flag(),
      "after its samples, run each measured GPU case once more under Nsight Compute and attach the "
      "counters, or why there are none (with --rerun: of stored cases too); a spec with "
      "`counters` does so anyway");
  add("keep-oracles", flag(),
      "leave the expected results in the cache folder, for further runs on the same data sets "
      "(default: until the last spec on a data set)");
  add("quiet", flag(), "no progress, messages of trouble alone");
  add_profile_option(options);
  add_location_options(options);
  const auto given = parse_options(usage, options, args);
  if (!given) return 0;
  const auto specs =
      given->positionals("run: expected at least one spec (see: retensor run --help)");

  SweepOptions sweep;
  sweep.out = given->text("out");
  sweep.at = given->locations();
  sweep.rerun = given->flag("rerun");
  sweep.profile = given->flag("profile");
  sweep.keep_oracles = given->flag("keep-oracles");
  sweep.quiet = given->flag("quiet");
  sweep.argv = {"retensor", "run"};
  sweep.argv.insert(sweep.argv.end(), args.begin(), args.end());

  const auto datasets = given->registry();
  const auto plans = plans_of(specs, given->profile(), datasets);
  StopSignals stop;
  std::set<std::string> printed;
  std::size_t not_ok = 0;
  for (auto plan = plans.begin(); plan != plans.end(); ++plan) {
    sweep.awaited = datasets_of(plan + 1, plans.end());
    const auto result = run_sweep(*plan, datasets, sweep, stop);
    if (printed.insert(result.path).second) std::cout << result.path << std::endl;
    not_ok += result.not_ok;
    if (result.stopped) return 128 + stop.first();
  }
  return not_ok == 0 ? 0 : 1;
}

}  // namespace retensor::driver
