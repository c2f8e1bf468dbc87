// retensor verdict: published values beside measured ones.
#include "experiments/driver/judge/verdict.hpp"

#include <algorithm>
#include <iostream>

#include <fmt/format.h>

#include "experiments/driver/commands/catalogue.hpp"
#include "experiments/driver/commands/options.hpp"
#include "experiments/driver/data/datasets.hpp"
#include "experiments/driver/data/locations.hpp"
#include "experiments/driver/run/results.hpp"

namespace retensor::driver {
using nlohmann::json;

namespace {

std::vector<Claim> claims_of(const std::vector<std::string>& papers) {
  std::vector<Claim> all;
  for (const auto& path : files_of_papers("claims", papers)) {
    const auto claims = load_claims(path);
    all.insert(all.end(), claims.begin(), claims.end());
  }
  return all;
}

FittedTo fitted_to(const DatasetRegistry& registry) {
  FittedTo result;
  for (const auto& [name, dataset] : registry.all()) {
    if (!dataset.stand_in.is_object() || !dataset.stand_in.contains("fitted_to")) continue;
    const auto& ids = dataset.stand_in["fitted_to"];
    for (const auto& id : ids.is_array() ? ids : json::array({ids}))
      if (id.is_string()) result[name].insert(id.get<std::string>());
  }
  return result;
}

/// Rows of the artifact `registry`, one for each data set that can be had here: claims about sizes
/// ask them. Their facts are checked whenever the tensor is made or read.
std::vector<Row> registry_rows(const DatasetRegistry& registry, const std::string& cache) {
  const auto origin = std::make_shared<const Session>(
      Session{{{"machine", {{"cpu", {{"model", "registry"}}}}}}, {}});
  std::vector<Row> rows;
  for (const auto& [name, d] : registry.all()) {
    if (!registry.obstacle(d, cache).empty()) continue;
    const auto replaced = d.stand_in.is_object() ? text_of(d.stand_in, "for") : "";
    double cells = 1;
    for (const auto length : d.dims) cells *= static_cast<double>(length);
    rows.push_back(Row({{"key", "registry " + name},
                        {"status", driver::name(Status::ok)},
                        {"original", replaced.empty() ? name : replaced},
                        {"density", static_cast<double>(d.nnz) / cells},
                        {"case",
                         {{"artifact", "registry"},
                          {"dataset", name},
                          {"method", ""},
                          {"data", data_object(d, d.sha256, d.dims, d.nnz)}}}},
                       origin));
  }
  return rows;
}

std::string published_text(const json& published) {
  const auto text = [&](const char* form, const char* pattern) {
    return published.contains(form) ? fmt::format(fmt::runtime(pattern), published[form].dump())
                                    : std::string();
  };
  return text("value", "{}") + text("at_least", ">= {}") + text("at_most", "<= {}") +
         text("range", "{}");
}

void print_table(const json& verdicts) {
  std::cout << fmt::format("{:<20} {:<18} {:>14} {:>12}  {:<10} {:<6} {:<9} {}\n", "claim",
                           "verdict", "published", "measured", "data", "on", "rows", "reason");
  std::map<std::string, int> counts;
  for (const auto& v : verdicts) {
    const auto measured =
        v["measured"].is_null() ? "" : fmt::format("{:.4g}", v["measured"].get<double>());
    std::cout << fmt::format(
        "{:<20} {:<18} {:>14} {:>12}  {:<10} {:<6} {:<9} {}\n", v["id"].get<std::string>(),
        v["verdict"].get<std::string>(), published_text(v["published"]), measured,
        v["data"].get<std::string>(), v["hardware"].get<std::string>(),
        fmt::format("{}/{}", v["rows"].dump(), v["of"].dump()), v["reason"].get<std::string>());
    ++counts[v["verdict"].get<std::string>()];
  }
  for (const auto& [outcome, count] : counts) std::cout << fmt::format("{} {}\n", count, outcome);
}

}  // namespace

json verdicts(const std::vector<std::string>& papers, const std::vector<std::string>& files,
              const Locations& at) {
  const auto registry = DatasetRegistry::load(at.registry, at.recipes);
  const auto claims = claims_of(papers);
  auto rows = newest_rows(files);
  for (auto& row : registry_rows(registry, at.cache)) rows.push_back(std::move(row));
  const auto fits = fitted_to(registry);
  json list = json::array();
  for (const auto& claim : claims) list.push_back(to_json(claim, judge(claim, rows, fits)));
  return list;
}

int verdict_command(const Args& args) {
  const Usage usage{"verdict [PAPER]...",
                    "Says for each published value of the papers (all by default) whether the rows "
                    "of the result files bear it out.",
                    "retensor verdict pasta --results out/results/cpu/pasta-fig4.jsonl", -1};
  po::options_description options;
  auto add = options.add_options();
  add("results", words("FILES"),
      "result files (default: all of experiments/results and out/results)");
  add("strict", flag(), "exit code 1 when a verdict speaks against a claim");
  add("json", flag(), "a JSON list instead of a table");
  add_location_options(options);
  const auto given = parse_options(usage, options, args);
  if (!given) return 0;

  auto files = given->texts("results");
  if (files.empty()) files = result_files();
  const auto list = verdicts(given->positionals(), files, given->locations());
  const bool against =
      std::any_of(list.begin(), list.end(), [](const json& v) { return v["holds"] == false; });
  if (given->flag("json"))
    std::cout << list.dump(2) << '\n';
  else
    print_table(list);
  return against && given->flag("strict") ? 1 : 0;
}

}  // namespace retensor::driver
