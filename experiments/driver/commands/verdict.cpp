// retensor verdict: published values beside measured ones.
#include "experiments/driver/verdict.hpp"

#include <algorithm>
#include <filesystem>
#include <iostream>

#include <fmt/format.h>

#include "common/core/error.hpp"
#include "common/measure/params.hpp"
#include "experiments/driver/commands/catalogue.hpp"
#include "experiments/driver/commands/options.hpp"
#include "experiments/driver/datasets.hpp"
#include "experiments/driver/locations.hpp"
#include "experiments/driver/results.hpp"

namespace retensor::driver {
namespace fs = std::filesystem;
using nlohmann::json;

namespace {

/// Claims files by paper.
std::map<std::string, std::string> claims_files() {
  std::map<std::string, std::string> files;
  for (const auto& entry : fs::directory_iterator(fs::path(source_root()) / "papers"))
    if (const auto path = entry.path() / "claims.yaml"; fs::exists(path))
      files[entry.path().filename().string()] = path.string();
  return files;
}

std::vector<Claim> claims_of(std::vector<std::string> papers) {
  const auto files = claims_files();
  std::vector<std::string> known;
  for (const auto& [paper, path] : files) known.push_back(paper);
  if (papers.empty()) papers = known;
  std::vector<Claim> all;
  for (const auto& paper : papers) {
    if (files.count(paper) == 0)
      throw InputError(fmt::format("no claims of a paper '{}', the nearest is '{}'", paper,
                                   nearest(paper, known)));
    const auto claims = load_claims(files.at(paper));
    all.insert(all.end(), claims.begin(), claims.end());
  }
  return all;
}

FittedTo fitted_to(const std::string& registry_path) {
  FittedTo result;
  const auto registry = DatasetRegistry::load(registry_path);
  for (const auto& [name, dataset] : registry.all()) {
    if (!dataset.stand_in.is_object() || !dataset.stand_in.contains("fitted_to")) continue;
    const auto& ids = dataset.stand_in["fitted_to"];
    for (const auto& id : ids.is_array() ? ids : json::array({ids}))
      if (id.is_string()) result[name].insert(id.get<std::string>());
  }
  return result;
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
  std::cout << fmt::format("{:<14} {:<18} {:>14} {:>12}  {:<10} {:<6} {:<9} {}\n", "claim",
                           "verdict", "published", "measured", "data", "on", "rows", "reason");
  std::map<std::string, int> counts;
  for (const auto& v : verdicts) {
    const auto measured =
        v["measured"].is_null() ? "" : fmt::format("{:.4g}", v["measured"].get<double>());
    std::cout << fmt::format(
        "{:<14} {:<18} {:>14} {:>12}  {:<10} {:<6} {:<9} {}\n", v["id"].get<std::string>(),
        v["verdict"].get<std::string>(), published_text(v["published"]), measured,
        v["data"].get<std::string>(), v["hardware"].get<std::string>(),
        fmt::format("{}/{}", v["rows"].dump(), v["of"].dump()), v["reason"].get<std::string>());
    ++counts[v["verdict"].get<std::string>()];
  }
  for (const auto& [outcome, count] : counts) std::cout << fmt::format("{} {}\n", count, outcome);
}

}  // namespace

int verdict_command(const Args& args) {
  const Usage usage{"verdict [PAPER]...",
                    "Says for each published value of the papers (all by default) whether the rows "
                    "of the result files bear it out.",
                    "retensor verdict pasta --results out/results/cpu/pasta-fig4.jsonl", -1};
  po::options_description options;
  options.add_options()("results",
                        po::value<std::vector<std::string>>()->multitoken()->value_name("FILES"),
                        "result files (default: all of experiments/results and out/results)")(
      "strict", po::bool_switch(), "exit code 1 when a verdict speaks against a claim")(
      "json", po::bool_switch(), "a JSON list instead of a table");
  add_location_options(options);
  const auto given = parse_options(usage, options, args);
  if (!given) return 0;

  const auto claims = claims_of(positionals(*given));
  const auto rows =
      newest_rows(given->count("results") != 0 ? (*given)["results"].as<std::vector<std::string>>()
                                               : result_files());
  const auto fits = fitted_to(registry_of(*given));
  json verdicts = json::array();
  bool against = false;
  for (const auto& claim : claims) {
    const auto verdict = judge(claim, rows, fits);
    verdicts.push_back(to_json(claim, verdict));
    against = against || fails(verdict);
  }
  if ((*given)["json"].as<bool>())
    std::cout << verdicts.dump(2) << '\n';
  else
    print_table(verdicts);
  return against && (*given)["strict"].as<bool>() ? 1 : 0;
}

}  // namespace retensor::driver
