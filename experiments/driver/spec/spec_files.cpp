// Includes are read depth first, so that the including file has the last word.
#include "experiments/driver/spec/spec_files.hpp"

#include <filesystem>

#include <fmt/format.h>

#include "common/core/error.hpp"
#include "common/core/hash.hpp"
#include "experiments/driver/spec/spec_shape.hpp"
#include "experiments/driver/yaml/files.hpp"

namespace retensor::driver {
namespace fs = std::filesystem;
namespace {

constexpr int kMaxIncludeDepth = 8;
constexpr int kMaxFiles = 64;  ///< includes that include each other twice grow exponentially

/// The nearest directory above the spec that is named experiments, else the spec's own.
fs::path experiments_of(const fs::path& spec) {
  const auto own = fs::weakly_canonical(fs::absolute(spec)).parent_path();
  for (auto dir = own; dir != dir.root_path(); dir = dir.parent_path())
    if (dir.filename() == "experiments") return dir;
  return own;
}

class Includer {
 public:
  explicit Includer(const std::string& root_spec) : root_spec_(root_spec) {}

  YamlNode read(std::string_view text, const std::string& name, int depth) {
    hash_.update(text.data(), text.size());
    auto tree = parse_yaml(text, name);
    spec_part_shape()->check(tree);
    const auto include = take(tree, "include");
    YamlNode merged;
    merged.kind = YamlNode::Kind::map;
    merged.at = tree.at;
    if (include.kind == YamlNode::Kind::scalar) overlay(merged, included(include, name, depth));
    for (const auto& item : include.items) overlay(merged, included(item, name, depth));
    overlay(merged, std::move(tree));
    return merged;
  }

  std::string hash() { return hash_.hex(); }

 private:
  YamlNode included(const YamlNode& entry, const std::string& from, int depth) {
    if (depth == kMaxIncludeDepth || ++files_ > kMaxFiles)
      throw ParseError(entry.at, "more includes",
                       fmt::format("at most {} files, {} deep", kMaxFiles, kMaxIncludeDepth));
    const auto path = (fs::path(from).parent_path() / entry.text).lexically_normal().string();
    const auto experiments = experiments_of(root_spec_);
    if (!lies_below(path, experiments.string()) && !lies_below(path, fs::current_path().string()))
      throw ParseError(entry.at, shown(entry.text),
                       fmt::format("a file below {}/ or the working directory",
                                   experiments.filename().string()));
    try {
      return read(read_small_file(path), path, depth + 1);
    } catch (const ParseError&) {
      throw;
    } catch (InputError& e) {
      e.add_context(fmt::format("{}:{}", entry.at.file, entry.at.line));
      throw;
    }
  }

  std::string root_spec_;
  Sha256 hash_;
  int files_ = 0;
};

}  // namespace

SpecTree read_spec_tree(std::string_view text, const std::string& name) {
  Includer includer(name);
  SpecTree tree;
  tree.merged = includer.read(text, name, 0);
  tree.sha256 = includer.hash();
  auto profiles = take(tree.merged, "profiles");
  for (std::size_t k = 0; k < profiles.keys.size(); ++k)
    tree.overlays.emplace_back(profiles.keys[k], std::move(profiles.items[k]));
  return tree;
}

}  // namespace retensor::driver
