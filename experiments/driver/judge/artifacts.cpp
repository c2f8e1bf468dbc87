#include "experiments/driver/judge/artifacts.hpp"

#include <set>

#include <fmt/format.h>

namespace retensor::driver {
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

}  // namespace retensor::driver
