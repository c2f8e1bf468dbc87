#include "experiments/driver/judge/artifacts.hpp"

#include <algorithm>
#include <filesystem>
#include <set>

#include <fmt/format.h>

#include "experiments/driver/yaml/files.hpp"
#include "experiments/driver/yaml/yaml_tree.hpp"

namespace retensor::driver {
namespace fs = std::filesystem;
namespace {

PaperArtifact paper_artifact(const YamlNode& node, const std::string& paper) {
  check_map(node, "artifact", {"place", "specs", "drawing"});
  PaperArtifact result{paper, as_text(node.need("place"), "a table or figure"), {}, {}, node.at};
  const auto* specs = node.find("specs");
  const auto* drawing = node.find("drawing");
  if ((specs == nullptr) == (drawing == nullptr))
    throw ParseError(node.at, specs == nullptr ? "neither specs nor drawing" : "specs and drawing",
                     "one of them");
  if (drawing != nullptr) {
    result.drawing = as_text(*drawing, "why there is no number to measure");
    return result;
  }
  for (const auto& spec : as_list(*specs, "specs").items)
    result.specs.push_back(as_text(spec, "an artifact of a spec, <paper>/<name>"));
  return result;
}

}  // namespace

std::vector<PaperArtifact> load_artifacts(const std::string& path) {
  const auto root = parse_yaml(read_small_file(path), path);
  check_map(root, "file of artifacts", {"schema", "paper", "artifacts"});
  check_schema(root);
  const auto paper = as_text(root.need("paper"), "a paper's id");
  std::vector<PaperArtifact> result;
  std::set<std::string> places;
  for (const auto& node : as_list(root.need("artifacts"), "artifacts").items) {
    result.push_back(paper_artifact(node, paper));
    if (!places.insert(result.back().place).second)
      throw ParseError(node.at, fmt::format("'{}' a second time", result.back().place),
                       "every table and figure once");
  }
  return result;
}

std::vector<PaperArtifact> paper_artifacts(const std::string& root) {
  std::vector<std::string> paths;
  if (fs::is_directory(fs::path(root) / "papers"))
    for (const auto& entry : fs::directory_iterator(fs::path(root) / "papers"))
      if (const auto path = entry.path() / "paper" / "artifacts.yaml"; fs::exists(path))
        paths.push_back(fs::proximate(path).string());
  std::sort(paths.begin(), paths.end());
  std::vector<PaperArtifact> all;
  for (const auto& path : paths) {
    auto own = load_artifacts(path);
    std::move(own.begin(), own.end(), std::back_inserter(all));
  }
  return all;
}

}  // namespace retensor::driver
