// retensor plan: what a spec would run, without running it.
#include "experiments/driver/spec/plan.hpp"
#include "experiments/driver/spec/methods.hpp"

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <map>
#include <memory>
#include <optional>

#include <fmt/format.h>

#include "common/core/error.hpp"
#include "common/io/cache.hpp"
#include "experiments/driver/commands/commands.hpp"
#include "experiments/driver/data/bytes.hpp"
#include "experiments/driver/run/progress.hpp"
#include "experiments/driver/run/table.hpp"
#include "experiments/driver/spec/auto_method.hpp"
#include "experiments/driver/spec/declined.hpp"

namespace retensor::driver {
namespace fs = std::filesystem;
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

/// Mode lengths, with the first nonzeros where the tensor lies in the cache.
std::shared_ptr<const Coo> first_part(const Dataset& dataset, const DatasetRegistry& datasets,
                                      const std::string& cache_dir) {
  constexpr Count kEnough = Count{1} << 26;  // nonzeros
  if (const auto path = datasets.cache_file(dataset, cache_dir); fs::exists(path))
    return std::make_shared<const Coo>(
        read_cache_part(path, 0, std::max(dataset.nnz / kEnough, Count{1})));
  return std::make_shared<const Coo>(dataset.dims, DType::f32);
}

/// Of a method that knows its own cost on this machine, which a tensor of one nonzero tells.
std::optional<Prediction> predicted(const Case& c, const Registry& methods,
                                    const DatasetRegistry& datasets, const std::string& cache_dir) {
  const auto& method = method_of_spec(methods, c.method);
  const auto& dataset = datasets.find(c.dataset);
  if (dataset.dims.empty() || !method.runs_here().ok) return std::nullopt;
  const auto params = method.params().resolve(c.params);
  const auto of = [&](std::shared_ptr<const Coo> x, Count nonzeros) {
    return method.predict(Problem::outline(c.problem, std::move(x), nonzeros), params);
  };
  const Dims one(dataset.dims.size(), 1);
  if (!of(std::make_shared<const Coo>(one, DType::f32), 1)) return std::nullopt;
  return of(first_part(dataset, datasets, cache_dir), dataset.nnz);
}

std::string in_words(const Prediction& p) {
  return fmt::format("expected: {}, {} of the device, {} of pinned memory",
                     duration_text(p.seconds), bytes_text(p.device_bytes),
                     bytes_text(p.host_bytes));
}

/// A plan with what its methods decline here and the data that are missing.
struct Outlook {
  Plan plan;
  std::vector<std::optional<Prediction>> predictions;  ///< of the cases
  std::size_t declined = 0;                            ///< the last of the skips
  std::map<std::string, std::string> missing;          ///< reason by data set
  Count most_memory = 0;
};

Outlook outlook(Plan plan, const Registry& methods, const DatasetRegistry& datasets,
                const std::string& cache_dir) {
  Outlook out;
  out.plan = std::move(plan);
  out.declined = skip_declined(out.plan, methods, datasets, cache_dir);
  for (const auto& c : out.plan.cases) {
    out.most_memory =
        std::max(out.most_memory, memory_estimate(c, datasets, method_of_spec(methods, c.method)));
    out.predictions.push_back(predicted(c, methods, datasets, cache_dir));
    if (out.missing.contains(c.dataset)) continue;
    if (auto reason = datasets.obstacle(datasets.find(c.dataset), cache_dir); !reason.empty())
      out.missing.emplace(c.dataset, std::move(reason));
  }
  return out;
}

void print_plan(const Outlook& out, const Registry& methods, const DatasetRegistry& datasets) {
  std::vector<TableRow> cases, skips;
  for (std::size_t k = 0; k < out.plan.cases.size(); ++k) {
    const auto& c = out.plan.cases[k];
    auto row = case_row(c);
    row.insert(
        row.begin(),
        {"case", bytes_text(memory_estimate(c, datasets, method_of_spec(methods, c.method)))});
    if (out.predictions[k]) row.push_back(in_words(*out.predictions[k]));
    cases.push_back(std::move(row));
  }
  for (const auto& skip : out.plan.skips) {
    auto row = case_row(skip.what);
    row.insert(row.begin(), out_style()(Tone::doubtful, "skip"));
    row.push_back(skip.reason);
    skips.push_back(std::move(row));
  }
  std::cout << fmt::format("{}: {}\n", out.plan.artifact, out.plan.title) << table_text(cases)
            << table_text(skips);
  for (const auto& [dataset, reason] : out.missing)
    std::cout << fmt::format("{}  {}: {}\n", out_style()(Tone::bad, "missing"), dataset, reason);
  std::cout << fmt::format(
      "{} cases; {} skips, {} of them because the method declines here; up to {} of memory\n",
      out.plan.cases.size(), out.plan.skips.size(), out.declined, bytes_text(out.most_memory));
}

nlohmann::json plan_json(const Outlook& out, const Registry& methods,
                         const DatasetRegistry& datasets) {
  const auto& plan = out.plan;
  auto cases = nlohmann::json::array(), skips = nlohmann::json::array();
  for (std::size_t k = 0; k < plan.cases.size(); ++k) {
    const auto& c = plan.cases[k];
    cases.push_back({{"case", driver::to_json(c, nullptr)},
                     {"memory", memory_estimate(c, datasets, method_of_spec(methods, c.method))}});
    if (const auto& p = out.predictions[k])
      cases.back()["expected"] = {{"seconds", p->seconds},
                                  {"device_bytes", p->device_bytes},
                                  {"pinned_bytes", p->host_bytes}};
  }
  for (std::size_t k = 0; k < plan.skips.size(); ++k) {
    const auto& [what, reason, memory] = plan.skips[k];
    skips.push_back({{"case", driver::to_json(what, nullptr)},
                     {"reason", reason},
                     {"declined", k + out.declined >= plan.skips.size()}});
    if (memory > 0) skips.back()["memory"] = memory;
  }
  return {{"artifact", plan.artifact},
          {"title", plan.title},
          {"spec", plan.spec_path},
          {"cases", cases},
          {"skips", skips},
          {"missing", out.missing}};
}

int plan_command(const Given& given) {
  const auto specs = given.positionals("plan: expected at least one spec");
  const auto datasets = given.registry();
  auto list = nlohmann::json::array();
  for (const auto& path : specs) {
    auto spec = load_spec(path, given.profile());
    const auto methods = methods_for(spec);
    const auto out = outlook(make_plan(spec, methods, datasets), methods, datasets, given.cache());
    if (given.flag("json"))
      list.push_back(plan_json(out, methods, datasets));
    else
      print_plan(out, methods, datasets);
  }
  if (given.flag("json")) std::cout << list.dump(2) << '\n';
  return 0;
}

}  // namespace

Interface plan_interface() {
  const Usage usage{
      "plan SPEC...",
      "Checks specs and prints the cases that they would run with the peak memory of "
      "each, and the skips with their reasons, among them what a method would decline "
      "on this machine. Of a method that streams, a few parts tell the time and the bytes to "
      "expect; nothing else is measured.",
      "retensor plan experiments/pasta/fig4.yaml --with quick", -1};
  po::options_description options;
  add_profile_option(options);
  add_location_options(options);
  add_json_option(options);
  return {usage, options, plan_command};
}

}  // namespace retensor::driver
