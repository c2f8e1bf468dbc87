// retensor plan: what a spec would run, without running it.
#include "experiments/driver/spec/plan.hpp"

#include <algorithm>
#include <iostream>

#include <fmt/format.h>

#include "common/core/error.hpp"
#include "common/method/registry.hpp"
#include "experiments/driver/commands/options.hpp"
#include "experiments/driver/commands/table.hpp"

namespace retensor::driver {
namespace {

std::string params_text(const std::map<std::string, ParamValue>& params) {
  std::string line;
  for (const auto& [name, value] : params)
    line += (line.empty() ? "" : " ") + name + "=" + text(value);
  return line;
}

/// Dashes stand where the operation uses no mode or rank.
TableRow case_row(const Case& c) {
  const auto& p = c.problem;
  auto operation = std::string(name(p.operation));
  if (!p.variant.empty()) operation += "." + p.variant;
  auto rank = has_rank(p.operation) ? fmt::format("rank {}", p.rank) : std::string("rank -");
  if (p.operation == Operation::ttm_chain) rank += fmt::format("x{}", p.rank2);
  return {c.dataset,
          operation,
          c.has_mode ? fmt::format("mode {}", p.mode) : std::string("mode -"),
          rank,
          std::string(name(p.dtype)),
          fmt::format("{}/{}", name(p.values), name(p.operands)),
          fmt::format("seed {}", p.seed),
          fmt::format("launch {}", c.launch),
          c.method,
          params_text(c.params)};
}

void print_plan(const Plan& plan, const Registry& methods, const DatasetRegistry& datasets,
                const std::string& cache_dir) {
  Count most = 0;
  std::vector<TableRow> cases, skips;
  std::vector<std::string> lost;
  for (const auto& c : plan.cases) {
    const auto needed = memory_estimate(c, datasets, methods.find(c.method));
    most = std::max(most, needed);
    auto row = case_row(c);
    row.insert(row.begin(), {"case", bytes_text(needed)});
    cases.push_back(std::move(row));
    const auto obstacle = datasets.obstacle(datasets.find(c.dataset), cache_dir);
    const auto note = fmt::format("missing  {}: {}\n", c.dataset, obstacle);
    if (!obstacle.empty() && (lost.empty() || lost.back() != note)) lost.push_back(note);
  }
  for (const auto& skip : plan.skips) {
    auto row = case_row(skip.what);
    row.insert(row.begin(), "skip");
    row.push_back(skip.reason);
    skips.push_back(std::move(row));
  }
  std::cout << fmt::format("{}: {}\n", plan.artifact, plan.title) << table_text(cases)
            << table_text(skips);
  for (const auto& note : lost) std::cout << note;
  std::cout << fmt::format("{} cases, {} skips, up to {} of memory\n", plan.cases.size(),
                           plan.skips.size(), bytes_text(most));
}

}  // namespace

int plan_command(const Args& args) {
  const Usage usage{"plan SPEC...",
                    "Checks specs and prints the cases they would run, the skips with reasons and "
                    "the peak memory of each case. Nothing is measured.",
                    "retensor plan experiments/pasta/fig4.yaml --with quick", -1};
  po::options_description options;
  add_profile_option(options);
  add_location_options(options);
  const auto given = parse_options(usage, options, args);
  if (!given) return 0;
  const auto specs = given->positionals("plan: expected at least one spec");
  const auto datasets = given->registry();
  const auto methods = all_methods();
  for (const auto& spec : specs)
    print_plan(make_plan(load_spec(spec, given->profile()), methods, datasets), methods, datasets,
               given->cache());
  return 0;
}

}  // namespace retensor::driver
