// retensor list artifacts: tables and figures of the papers, whether they can be measured here, and
// what result files hold of them.
#include "experiments/driver/judge/artifacts.hpp"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>
#include <boost/algorithm/string/join.hpp>

#include "common/core/error.hpp"
#include "common/device/device.hpp"
#include "common/method/registry.hpp"
#include "experiments/driver/commands/catalogue.hpp"
#include "experiments/driver/data/locations.hpp"
#include "experiments/driver/run/results.hpp"
#include "experiments/driver/run/table.hpp"
#include "experiments/driver/spec/methods.hpp"
#include "experiments/driver/spec/plan.hpp"

namespace retensor::driver {
namespace {

/// What result files hold of an artifact.
struct RowCounts {
  std::size_t rows = 0, ok = 0, stale = 0;
  std::string newest;  ///< ISO8601 of the last row, empty without any
};

std::map<std::string, RowCounts> measured_artifacts(const std::vector<std::string>& files) {
  std::map<std::string, RowCounts> artifacts;
  for (const auto& row : newest_rows(files)) {
    auto& of = artifacts[text_of(row.row_case(), "artifact")];
    ++of.rows;
    of.ok += row.ok();
    of.stale += row.is_stale();
    of.newest = std::max(of.newest, row.finished());
  }
  return artifacts;
}

/// How many cases of a spec can run on this machine, and what the others need.
struct State {
  std::size_t cases = 0, runnable = 0;
  bool needs_gpu = false;
  std::set<std::string> needs_data;  ///< data sets that are not to be had
};

State state_of(const Plan& plan, const DatasetRegistry& datasets, const std::string& cache) {
  const bool has_gpu = device::available().ok;
  std::map<std::string, bool> obtainable;
  State state;
  for (const auto& c : plan.cases) {
    const auto [entry, fresh] = obtainable.try_emplace(c.dataset);
    if (fresh) entry->second = datasets.obstacle(datasets.find(c.dataset), cache).empty();
    const bool lacks_gpu = is_gpu_method(c.method) && !has_gpu;
    ++state.cases;
    state.runnable += entry->second && !lacks_gpu;
    state.needs_gpu |= lacks_gpu;
    if (!entry->second) state.needs_data.insert(c.dataset);
  }
  return state;
}

/// As many names as a line of the table has room for.
std::string few(const std::set<std::string>& names) {
  constexpr std::size_t kShown = 4;
  std::vector<std::string> shown(names.begin(), names.end());
  if (names.size() <= kShown) return boost::join(shown, ", ");
  shown.resize(kShown - 1);
  return fmt::format("{} and {} more", boost::join(shown, ", "), names.size() - shown.size());
}

std::string state_text(const State& state) {
  if (state.cases == 0) return "no case";
  if (state.runnable == state.cases) return "can run";
  std::vector<std::string> needs;
  if (state.needs_gpu) needs.emplace_back("GPU");
  if (!state.needs_data.empty()) needs.push_back("data " + few(state.needs_data));
  const auto rest = "needs " + boost::join(needs, ", ");
  return state.runnable == 0
             ? rest
             : fmt::format("{} of {} can run, else {}", state.runnable, state.cases, rest);
}

std::string measured_text(const RowCounts& of) {
  if (of.rows == 0) return "not run";
  return fmt::format("{} of {} ok{}", of.ok, of.rows,
                     of.stale == 0 ? "" : fmt::format(", {} stale", of.stale));
}

/// Entries of the specs by the artifact that they name.
std::map<std::string, nlohmann::json> spec_entries(const std::vector<Spec>& specs,
                                                   const std::vector<std::string>& files,
                                                   const DatasetRegistry& datasets,
                                                   const std::string& cache) {
  auto measured = measured_artifacts(files);
  std::map<std::string, State> states;
  for (Spec spec : specs) {
    if (!spec.of.empty()) continue;
    const auto methods = methods_for(spec);
    states[spec.artifact] = state_of(make_plan(spec, methods, datasets), datasets, cache);
  }
  std::map<std::string, nlohmann::json> entries;
  for (const auto& spec : specs) {
    const auto source = spec.of.empty() ? spec.artifact : spec.of;
    const auto& state = states[source];
    const auto& of = measured[source];
    entries[spec.artifact].push_back({{"artifact", spec.artifact},
                                      {"path", spec.path},
                                      {"title", spec.title},
                                      {"state", state_text(state)},
                                      {"cases", state.cases},
                                      {"runnable", state.runnable},
                                      {"needs_gpu", state.needs_gpu},
                                      {"needs_data", state.needs_data},
                                      {"measured", measured_text(of)},
                                      {"rows", of.rows},
                                      {"ok", of.ok},
                                      {"stale", of.stale},
                                      {"newest", of.newest}});
  }
  return entries;
}

nlohmann::json place_entry(const PaperArtifact& artifact,
                           const std::map<std::string, nlohmann::json>& specs, bool all_specs) {
  auto list = nlohmann::json::array();
  for (const auto& name : artifact.specs) {
    const auto found = specs.find(name);
    if (found == specs.end() && all_specs)
      throw ParseError(artifact.at, fmt::format("no spec of the artifact '{}'", name),
                       "one below experiments/");
    if (found != specs.end()) list.insert(list.end(), found->second.begin(), found->second.end());
  }
  return {{"paper", artifact.paper},
          {"place", artifact.place},
          {"drawing", artifact.drawing},
          {"specs", list}};
}

}  // namespace

nlohmann::json artifacts(const std::string& profile, const std::vector<std::string>& files,
                         const Locations& at) {
  const auto specs = spec_entries(all_specs(profile), files,
                                  DatasetRegistry::load(at.registry, at.recipes), at.cache);
  std::set<std::string> placed;
  auto list = nlohmann::json::array();
  for (const auto& path : files_of_papers("artifacts", {}))
    for (const auto& artifact : load_artifacts(path)) {
      list.push_back(place_entry(artifact, specs, profile.empty()));
      placed.insert(artifact.specs.begin(), artifact.specs.end());
    }
  for (const auto& [name, entries] : specs)
    if (placed.count(name) == 0)
      list.push_back({{"paper", name.substr(0, name.find('/'))},
                      {"place", ""},
                      {"drawing", ""},
                      {"specs", entries}});
  std::stable_sort(list.begin(), list.end(),
                   [](const auto& a, const auto& b) { return a["paper"] < b["paper"]; });
  return list;
}

std::string artifacts_text(const nlohmann::json& list) {
  constexpr std::size_t kDate = 10;  // characters of an ISO8601 time
  std::vector<TableRow> rows;
  for (const auto& entry : list) {
    const auto place = text_of(entry, "place");
    for (const auto& s : entry["specs"])
      rows.push_back({text_of(s, "artifact"), place.empty() ? "-" : place, text_of(s, "path"),
                      text_of(s, "state"), text_of(s, "measured"),
                      s["rows"] == 0 ? "-" : text_of(s, "newest").substr(0, kDate),
                      text_of(s, "title")});
    if (const auto drawing = text_of(entry, "drawing"); !drawing.empty())
      rows.push_back({text_of(entry, "paper"), place, "-", "without numbers", "-", "-", drawing});
  }
  return table_text({"artifact", "place", "spec", "state", "measured", "newest", "title"}, rows,
                    out_style());
}

}  // namespace retensor::driver
