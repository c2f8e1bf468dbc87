// The files behind a spec: includes and profile overlays merged into one tree.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "experiments/driver/yaml/yaml_tree.hpp"

namespace retensor::driver {

struct SpecTree {
  YamlNode merged;                                           ///< includes merged, profiles removed
  std::vector<std::pair<YamlNode::Key, YamlNode>> overlays;  ///< by profile, in the file's order
  std::string sha256;  ///< of all texts in the order in which they were read
};

/// Throws ParseError; `name` is the file's path, which includes are relative to.
SpecTree read_spec_tree(std::string_view text, const std::string& name);

}  // namespace retensor::driver
