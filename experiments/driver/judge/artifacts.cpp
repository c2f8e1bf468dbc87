#include "experiments/driver/judge/artifacts.hpp"

#include <algorithm>
#include <filesystem>
#include <set>

#include <fmt/format.h>

namespace retensor::driver {
namespace fs = std::filesystem;
namespace {

PaperArtifact paper_artifact(const YamlNode& node, const std::string& paper) {
  return {paper, node.need("place").text, texts_of(node.find("specs")), text_or(node, "drawing"),
          node.at};
}

}  // namespace

ShapePtr artifacts_shape() {
  using namespace shape;
  static const auto artifact =
      map({.what = "artifact",
           .members = {required("place", scalar("a table or figure")),
                       optional("specs", list("specs", scalar("an artifact of a spec, "
                                                              "<paper>/<name>"))),
                       optional("drawing", scalar("why there is no number to measure"))},
           .one_of = {{"specs", "drawing"}}});
  static const auto artifacts =
      file({.what = "a file of artifacts",
            .members = {required("paper", scalar("a paper's id")),
                        required("artifacts", list("artifacts", artifact))}});
  return artifacts;
}

std::vector<PaperArtifact> load_artifacts(const std::string& path) {
  const auto root = load_yaml(path, artifacts_shape());
  const auto& paper = root.need("paper").text;
  std::vector<PaperArtifact> result;
  std::set<std::string> places;
  for (const auto& node : root.items_of("artifacts")) {
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
  std::ranges::sort(paths);
  std::vector<PaperArtifact> all;
  for (const auto& path : paths) {
    auto own = load_artifacts(path);
    std::move(own.begin(), own.end(), std::back_inserter(all));
  }
  return all;
}

}  // namespace retensor::driver
