// retensor plan: what a spec would run, without running it.
#include "experiments/driver/spec/plan.hpp"
#include "common/core/text.hpp"
#include "experiments/driver/spec/methods.hpp"

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <map>
#include <memory>
#include <optional>

#include <fmt/format.h>

#include "common/decompose/text_params.hpp"
#include "common/io/cache.hpp"
#include "experiments/driver/commands/commands.hpp"
#include "experiments/driver/data/bytes.hpp"
#include "experiments/driver/run/progress.hpp"
#include "experiments/driver/run/table.hpp"

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

/// What methods that know their own cost on this machine expect of cases.
class Predictor {
 public:
  Predictor(const Registry& methods, const DatasetRegistry& datasets, std::string cache_dir)
      : methods_(methods), datasets_(datasets), cache_dir_(std::move(cache_dir)) {}

  std::optional<Prediction> of(const Case& c) {
    if (datasets_.find(c.dataset).dims.empty()) return std::nullopt;
    if (c.problem.operation != Operation::cpd)
      return of(c.dataset, c.problem, method_of_spec(methods_, c.method), c.params);
    const auto passes = c.params.find("mttkrp");
    if (passes == c.params.end()) return std::nullopt;
    const auto& method = methods_.find(std::get<std::string>(passes->second));
    return of_sweeps(c, method,
                     cpd::params_in(std::get<std::string>(c.params.at("mttkrp_params"))));
  }

 private:
  using ParamValues = std::map<std::string, ParamValue>;

  /// Nothing where a tensor of one nonzero tells that the method does not know.
  std::optional<Prediction> of(const std::string& name, const ProblemSpec& spec,
                               const Method& method, const ParamValues& given) {
    if (!method.runs_here().ok) return std::nullopt;
    const auto params = method.params().resolve(given);
    const auto ask = [&](std::shared_ptr<const Coo> x, Count nonzeros) {
      return method.predict(Problem::outline(spec, std::move(x), nonzeros), params);
    };
    const auto& dataset = datasets_.find(name);
    const Dims one(dataset.dims.size(), 1);
    if (!ask(std::make_shared<const Coo>(one, DType::f32), 1)) return std::nullopt;
    return ask(first_part(dataset), dataset.nnz);
  }

  /// The passes over the nonzeros of as many sweeps as the case may have. What remains of a sweep,
  /// sums and systems of rank x rank, is left out.
  std::optional<Prediction> of_sweeps(const Case& c, const Method& mttkrp,
                                      const ParamValues& given) {
    auto spec = c.problem;
    spec.operation = Operation::mttkrp_all;
    auto all = of(c.dataset, spec, mttkrp, given);
    if (!all) return all;
    spec.operation = Operation::mttkrp;
    all->seconds = 0;
    const auto order = static_cast<int>(datasets_.find(c.dataset).dims.size());
    for (spec.mode = 0; spec.mode < order; ++spec.mode)
      all->seconds += of(c.dataset, spec, mttkrp, given)->seconds;
    all->seconds *= static_cast<double>(spec.max_sweeps);
    return all;
  }

  /// Mode lengths, with the first nonzeros where the tensor lies in the cache.
  std::shared_ptr<const Coo> first_part(const Dataset& dataset) {
    constexpr Count kEnough = Count{1} << 26;  // nonzeros
    if (dataset.name == at_hand_) return part_;
    at_hand_ = dataset.name;
    const auto path = datasets_.cache_file(dataset, cache_dir_);
    part_ = std::make_shared<const Coo>(
        fs::exists(path) ? read_cache_part(path, 0, std::max(dataset.nnz / kEnough, Count{1}))
                         : Coo(dataset.dims, DType::f32));
    return part_;
  }

  const Registry& methods_;
  const DatasetRegistry& datasets_;
  const std::string cache_dir_;
  std::string at_hand_;  // the data set of part_
  std::shared_ptr<const Coo> part_;
};

std::string prediction_text(const Prediction& p) {
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
  Predictor predictor(methods, datasets, cache_dir);
  for (const auto& c : out.plan.cases) {
    out.most_memory =
        std::max(out.most_memory, memory_estimate(c, datasets, method_of_spec(methods, c.method)));
    out.predictions.push_back(predictor.of(c));
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
    if (out.predictions[k]) row.push_back(prediction_text(*out.predictions[k]));
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
  for (const auto& note : out.plan.notes)
    std::cout << fmt::format("{}  {}\n", out_style()(Tone::doubtful, "note"), note);
  const auto declined =
      out.declined > 0 ? fmt::format(", {} of them because the method declines here", out.declined)
                       : "";
  std::cout << fmt::format(
      "{}; {}{}; up to {} of memory\n", count_text(out.plan.cases.size(), "case"),
      count_text(out.plan.skips.size(), "skip"), declined, bytes_text(out.most_memory));
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
          {"notes", plan.notes},
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
  const Usage usage{"plan SPEC...",
                    "Checks specs and prints the cases that they would run, with the peak memory "
                    "of each, and the skipped cases with the reasons, including cases that a "
                    "method would decline on this machine, and notes on exclusions that match no "
                    "case. For a method that streams its tensor, a "
                    "few parts are run to predict time and bytes. Nothing else is measured.",
                    "retensor plan experiments/pasta/fig4.yaml --with quick", -1};
  Options add;
  add.profile();
  add.locations();
  add.json();
  return {usage, add, plan_command};
}

}  // namespace retensor::driver
