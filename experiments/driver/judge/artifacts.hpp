// The tables and figures of a paper in its order, and the specs that reproduce them:
// papers/<id>/paper/artifacts.yaml (experiments/schema).
#pragma once

#include <string>
#include <vector>

#include "common/core/error.hpp"
#include "experiments/driver/yaml/shape.hpp"

namespace retensor::driver {

struct PaperArtifact {
  std::string paper;
  std::string place;               ///< "Table I", "Fig. 4"
  std::vector<std::string> specs;  ///< artifacts as specs name them: "pasta/fig4"
  std::string drawing;             ///< in place of specs: why there is no number to measure
  FilePosition at;
};

/// What such a file may hold.
ShapePtr artifacts_shape();

/// One file; throws ParseError at another shape and at a place that stands twice.
std::vector<PaperArtifact> load_artifacts(const std::string& path);

}  // namespace retensor::driver
