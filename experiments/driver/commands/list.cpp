// retensor list and retensor show: what there is.
#include <algorithm>
#include <array>
#include <filesystem>
#include <iostream>

#include <fmt/format.h>

#include "common/core/message.hpp"
#include "common/core/text.hpp"
#include "common/method/registry.hpp"
#include "experiments/driver/commands/catalogue.hpp"
#include "experiments/driver/commands/commands.hpp"
#include "experiments/driver/data/locations.hpp"
#include "experiments/driver/judge/claims.hpp"
#include "experiments/driver/run/table.hpp"
#include "experiments/driver/spec/case.hpp"

namespace retensor::driver {
namespace fs = std::filesystem;
namespace {

bool measures_on(const Spec& spec, const std::string& backend) {
  return std::ranges::any_of(spec.methods, [&](const MethodEntry& method) {
    return name(is_gpu_method(method.id) ? Backend::cuda : Backend::cpu) == backend;
  });
}

/// Relative to the working directory where it lies below it.
std::string shown_path(const std::string& path) {
  const auto near = fs::proximate(path).string();
  return near.starts_with("..") ? path : near;
}

}  // namespace

std::vector<Spec> all_specs(const std::string& profile) {
  if (!profile.empty()) place_among(profile_names(), profile, "unknown profile");
  std::vector<std::string> paths;
  for (const auto& folder : fs::directory_iterator(experiments_root())) {
    if (!folder.is_directory()) continue;
    for (const auto& file : fs::directory_iterator(folder.path()))
      if (file.path().extension() == ".yaml") paths.push_back(file.path().string());
  }
  std::ranges::sort(paths);
  std::vector<Spec> specs;
  for (const auto& path : paths) {
    const auto shown = shown_path(path);
    if (is_fragment(shown)) continue;
    auto spec = load_spec(shown);
    const auto& member = spec.profiles;
    if (profile.empty())
      specs.push_back(std::move(spec));
    else if (std::ranges::find(member, profile) != member.end())
      specs.push_back(load_spec(shown, profile));
  }
  return specs;
}

std::vector<std::string> papers_with(const std::string& kind) {
  std::vector<std::string> papers;
  const auto root = fs::path(source_root()) / "papers";
  if (fs::is_directory(root))
    for (const auto& entry : fs::directory_iterator(root))
      if (fs::exists(entry.path() / "paper" / (kind + ".yaml")))
        papers.push_back(entry.path().filename().string());
  std::ranges::sort(papers);
  return papers;
}

std::vector<std::string> files_of_papers(const std::string& kind,
                                         const std::vector<std::string>& papers) {
  auto known = papers_with(kind);
  const auto wanted = papers.empty() ? known : papers;
  const auto own = fs::path(experiments_root()) / (kind + ".yaml");
  if (fs::exists(own)) known.emplace_back(kProject);
  if (known.empty() && !papers.empty())
    throw input_error(
        "there are no {} of papers in {}; set RETENSOR_ROOT to a source "
        "tree of the project",
        kind, source_root());
  std::vector<std::string> found;
  for (const auto& paper : wanted) {
    place_among(known, paper, fmt::format("no {} of a paper", kind));
    const auto path = fs::path(source_root()) / "papers" / paper / "paper" / (kind + ".yaml");
    found.push_back(shown_path((paper == kProject ? own : path).string()));
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
  std::ranges::sort(files);
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
  std::vector<std::string> files;
  std::error_code ignored;  // who reads the file says what is wrong with its path
  for (auto& name : named) {
    if (!fs::is_directory(name, ignored)) {
      files.push_back(std::move(name));
      continue;
    }
    auto below = result_files_below({name});
    if (below.empty()) throw input_error("{}: found no result file (.jsonl) below it", name);
    std::ranges::move(below, std::back_inserter(files));
  }
  if (named.empty()) files = result_files();
  if (files.empty()) throw input_error("no result files: run a spec first, or name them");
  return files;
}

nlohmann::json datasets_json(const DatasetRegistry& datasets, const std::string& cache_dir) {
  auto list = nlohmann::json::array();
  for (const auto& [name, d] : datasets.all()) {
    if (!d.variant.empty() && d.variant != "base") continue;
    const auto obstacle = datasets.obstacle(d, cache_dir);
    const auto state = !obstacle.empty()                               ? "not here"
                       : fs::exists(datasets.cache_file(d, cache_dir)) ? "cached"
                                                                       : "obtainable";
    list.push_back({{"name", name},
                    {"kind", d.kind},
                    {"form", d.form},
                    {"nnz", d.nnz},
                    {"dims", d.dims},
                    {"state", state},
                    {"obstacle", obstacle}});
    if (!d.variant.empty()) list.back()["for"] = d.stand_in["for"];
  }
  return list;
}

std::string datasets_text(const nlohmann::json& datasets) {
  std::vector<TableRow> rows;
  for (const auto& d : datasets)
    rows.push_back({d["name"],
                    d.contains("for") ? "stand-in for " + d["for"].get<std::string>()
                                      : d["kind"].get<std::string>(),
                    d["form"], d["nnz"] == 0 ? "?" : d["nnz"].dump(),
                    dims_text(d["dims"].get<Dims>()), d["state"]});
  return table_text({"data set", "kind", "form", "nonzeros", "dims", "state"}, rows, out_style());
}

namespace {

const std::vector<std::string> kLists = {"methods", "datasets", "experiments", "artifacts"};

std::string experiments_text(const std::vector<Spec>& specs) {
  std::string text;
  for (const auto& spec : specs) text += spec.path + '\n';
  return text;
}

nlohmann::json experiments_json(const std::vector<Spec>& specs) {
  return transformed(specs, [](const Spec& spec) {
    return nlohmann::json{{"path", spec.path},
                          {"artifact", spec.artifact},
                          {"title", spec.title},
                          {"profiles", spec.profiles}};
  });
}

std::vector<Spec> experiments(const std::string& profile, const std::string& backend) {
  auto specs = all_specs(profile);
  if (!backend.empty())
    std::erase_if(specs, [&](const Spec& spec) { return !measures_on(spec, backend); });
  return specs;
}

/// All, or those of a backend.
nlohmann::json methods_of(const std::string& backend) {
  auto list = methods();
  for (auto at = list.begin(); at != list.end();)
    at = backend.empty() || (*at)["backend"] == backend ? at + 1 : list.erase(at);
  return list;
}

std::string backend_of(const Given& given) {
  const auto backend = given.text("backend");
  if (!backend.empty()) place_among(std::array{"cpu", "cuda"}, backend, "--backend: found");
  return backend;
}

int list_command(const Given& given) {
  const auto what = given.positional(in_words(kLists, "or"));
  place_among(kLists, what, "list: found");
  given.refuse_others_than(what, "for list " + what);
  if (what == "methods" || what == "datasets") given.refuse({"with"}, "for list " + what);
  const bool as_json = given.flag("json");
  const auto print = [&](const nlohmann::json& list, const auto& text) {
    std::cout << (as_json ? list.dump(2) + '\n' : text(list));
  };
  if (what == "methods") {
    print(methods_of(backend_of(given)), methods_text);
  } else if (what == "datasets") {
    print(datasets_json(given.registry(), given.cache()), datasets_text);
  } else if (what == "experiments") {
    const auto specs = experiments(given.profile(), backend_of(given));
    print(experiments_json(specs), [&](const auto&) { return experiments_text(specs); });
  } else {
    print(artifacts(given.profile(), result_files(), given.locations()), artifacts_text);
  }
  return 0;
}

}  // namespace

Interface list_interface() {
  const Usage usage{
      "list methods|datasets|experiments|artifacts",
      "Lists methods, data sets, specs or artifacts.\nmethods: the operations and types of each "
      "method, and whether this machine can run it.\ndatasets: the data sets of the registry, and "
      "whether they are available.\nexperiments: the path of each spec.\nartifacts: the tables and "
      "figures of the papers, then the other artifacts that have a spec. For each it says whether "
      "the cases can run here or need a GPU or data, how many rows of the result files are ok, how "
      "many are stale (measured with older code of their method), and the date of the newest.",
      "retensor list experiments --with quick", 1};
  Options add;
  add.profile();
  add.locations();
  add("backend", word("NAME"),
      "methods, experiments: only methods of this backend, or what measures them: cpu, cuda");
  add.json();
  return {usage, add, list_command};
}

}  // namespace retensor::driver
