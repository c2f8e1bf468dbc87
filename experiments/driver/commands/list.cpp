// retensor list and retensor show: what there is.
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <map>

#include <fmt/format.h>
#include <boost/algorithm/string/join.hpp>

#include "common/core/error.hpp"
#include "common/core/text.hpp"
#include "common/method/registry.hpp"
#include "experiments/driver/commands/catalogue.hpp"
#include "experiments/driver/commands/options.hpp"
#include "experiments/driver/commands/table.hpp"
#include "experiments/driver/data/locations.hpp"
#include "experiments/driver/judge/claims.hpp"
#include "experiments/driver/spec/case.hpp"

namespace retensor::driver {
namespace fs = std::filesystem;
namespace {

std::string methods_table() {
  std::vector<TableRow> rows;
  const auto methods = all_methods();
  for (const auto& method : methods.methods())
    rows.push_back({std::string(method->id()), std::string(method->summary())});
  return table_text(rows);
}

bool measures_on(const Spec& spec, const std::string& backend) {
  return std::any_of(spec.methods.begin(), spec.methods.end(), [&](const MethodEntry& method) {
    return name(is_gpu_method(method.id) ? Backend::cuda : Backend::cpu) == backend;
  });
}

std::string range_text(const ParamSpec& param) {
  if (std::holds_alternative<bool>(param.standard)) return "true or false";
  if (!param.choices.empty()) return boost::algorithm::join(param.choices, ", ");
  if (std::holds_alternative<std::string>(param.standard)) return "any word";
  if (!param.limits) return "any number";
  return fmt::format("{} to {}", param.limits->lowest, param.limits->highest);
}

/// Relative to the working directory where it lies below it.
std::string shown_path(const std::string& path) {
  const auto near = fs::proximate(path).string();
  return near.starts_with("..") ? path : near;
}

}  // namespace

std::vector<Spec> all_specs(const std::string& profile) {
  if (!profile.empty()) {
    const auto& known = profile_names();
    if (std::find(known.begin(), known.end(), profile) == known.end())
      throw InputError(
          fmt::format("unknown profile '{}', nearest is '{}'", profile, nearest(profile, known)));
  }
  std::vector<std::string> paths;
  for (const auto& folder : fs::directory_iterator(experiments_root())) {
    if (!folder.is_directory()) continue;
    for (const auto& file : fs::directory_iterator(folder.path()))
      if (file.path().extension() == ".yaml") paths.push_back(file.path().string());
  }
  std::sort(paths.begin(), paths.end());
  std::vector<Spec> specs;
  for (const auto& path : paths) {
    const auto shown = shown_path(path);
    if (is_fragment(shown)) continue;
    auto spec = load_spec(shown);
    const auto& member = spec.profiles;
    if (profile.empty())
      specs.push_back(std::move(spec));
    else if (std::find(member.begin(), member.end(), profile) != member.end())
      specs.push_back(load_spec(shown, profile));
  }
  return specs;
}

nlohmann::json methods() {
  auto list = nlohmann::json::array();
  const auto registry = all_methods();
  for (const auto& method : registry.methods()) {
    auto operations = nlohmann::json::array();
    for (const auto operation : method->operations()) operations.push_back(name(operation));
    list.push_back({{"id", method->id()},
                    {"summary", method->summary()},
                    {"backend", name(method->backend())},
                    {"operations", operations},
                    {"converts_least", method->converts_least()}});
  }
  return list;
}

std::vector<std::string> files_of_papers(const std::string& kind,
                                         const std::vector<std::string>& papers) {
  std::map<std::string, std::string> files;
  for (const auto& entry : fs::directory_iterator(fs::path(source_root()) / "papers"))
    if (const auto path = entry.path() / "paper" / (kind + ".yaml"); fs::exists(path))
      files[entry.path().filename().string()] = shown_path(path.string());
  std::vector<std::string> known, found;
  for (const auto& [paper, path] : files) known.push_back(paper);
  const auto wanted = papers.empty() ? known : papers;
  if (const auto own = fs::path(experiments_root()) / (kind + ".yaml"); fs::exists(own)) {
    files[kProject] = shown_path(own.string());
    known.emplace_back(kProject);
  }
  for (const auto& paper : wanted) {
    if (files.count(paper) == 0)
      throw InputError(fmt::format("no {} of a paper '{}', the nearest is '{}'", kind, paper,
                                   nearest(paper, known)));
    found.push_back(files[paper]);
  }
  return found;
}

namespace {

std::vector<std::string> result_files_below(const std::vector<fs::path>& roots) {
  std::vector<std::string> files;
  for (const auto& root : roots)
    if (fs::is_directory(root))
      for (const auto& entry : fs::recursive_directory_iterator(root))
        if (entry.path().extension() == ".jsonl") files.push_back(entry.path().string());
  std::sort(files.begin(), files.end());
  return files;
}

fs::path committed_folder() {
  return fs::path(source_root()) / "experiments" / "results";
}

}  // namespace

std::vector<std::string> committed_results() {
  return result_files_below({committed_folder()});
}

std::vector<std::string> result_files() {
  return result_files_below({committed_folder(), fs::path("out") / "results"});
}

std::vector<std::string> required_results(std::vector<std::string> named) {
  auto files = named.empty() ? result_files() : std::move(named);
  if (files.empty()) throw InputError("no result files: run a spec first, or name them");
  return files;
}

std::string datasets_text(const DatasetRegistry& datasets, const std::string& cache_dir) {
  std::vector<TableRow> rows;
  for (const auto& [name, d] : datasets.all()) {
    const auto obstacle = datasets.obstacle(d, cache_dir);
    const auto state = !obstacle.empty()                               ? "not here"
                       : fs::exists(datasets.cache_file(d, cache_dir)) ? "cached"
                                                                       : "obtainable";
    if (!d.variant.empty() && d.variant != "base") continue;
    const auto kind =
        d.variant.empty() ? d.kind : "stand-in for " + d.stand_in["for"].get<std::string>();
    rows.push_back({name, kind, d.form, std::to_string(d.nnz), dims_text(d.dims), state});
  }
  return table_text(rows);
}

int list_command(const Args& args) {
  const Usage usage{
      "list methods|datasets|experiments|artifacts",
      "Lists what there is. `experiments` prints one path of a spec per line, "
      "`artifacts` the tables and figures of the papers, then what else there are specs for: "
      "whether the cases can run here or need a GPU or data, and rows in the result files: "
      "how many are ok, and stale, that is measured by other sources of their method, and "
      "the day of the newest.",
      "retensor list experiments --with quick", 1};
  po::options_description options;
  add_profile_option(options);
  add_location_options(options);
  auto add = options.add_options();
  add("json", flag(), "methods or artifacts as a JSON list");
  add("backend", word("NAME"), "experiments that measure methods of this backend alone: cpu, cuda");
  const auto given = parse_options(usage, options, args);
  if (!given) return 0;
  const auto what = given->positional("methods, datasets, experiments or artifacts");
  const bool as_json = given->flag("json");
  if (what == "methods") {
    std::cout << (as_json ? methods().dump(2) + '\n' : methods_table());
  } else if (what == "datasets") {
    std::cout << datasets_text(given->registry(), given->cache());
  } else if (what == "experiments") {
    const auto backend = given->text("backend");
    for (const auto& spec : all_specs(given->profile()))
      if (backend.empty() || measures_on(spec, backend)) std::cout << spec.path << '\n';
  } else if (what == "artifacts") {
    const auto list = artifacts(given->profile(), result_files(), given->locations());
    std::cout << (as_json ? list.dump(2) + '\n' : artifacts_text(list));
  } else {
    throw InputError(
        fmt::format("list: found '{}', the nearest is '{}'", what,
                    nearest(what, {"methods", "datasets", "experiments", "artifacts"})));
  }
  return 0;
}

int show_command(const Args& args) {
  const auto methods = all_methods();
  // The driver names no method, so the example takes the first that is registered.
  const auto example = methods.methods().empty() ? "METHOD" : methods.methods().front()->id();
  const Usage usage{"show METHOD", "Shows a method: what it is, and its parameters with ranges.",
                    fmt::format("retensor show {}", example), 1};
  const auto given = parse_options(usage, {}, args);
  if (!given) return 0;
  const auto& method = methods.find(given->positional("the id of a method"));
  std::cout << fmt::format("{}\n{}\nbackend: {}\n", method.id(), method.summary(),
                           name(method.backend()));
  const auto schema = method.params();
  if (schema.specs().empty()) std::cout << "no parameters\n";
  std::vector<TableRow> rows = {{"parameter", "default", "range", "meaning"}};
  for (const auto& param : schema.specs())
    rows.push_back({param.name, text(param.standard), range_text(param), param.help});
  if (rows.size() > 1) std::cout << '\n' << table_text(rows);
  return 0;
}

}  // namespace retensor::driver
