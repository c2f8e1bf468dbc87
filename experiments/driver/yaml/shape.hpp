// What may stand in a file that users write, described once: a shape checks a YAML tree, and prints
// itself as JSON Schema (draft 2020-12) for editors. What follows from more than one place of a
// file (lists of equal length, names that must exist) is checked by who reads it.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "experiments/driver/yaml/yaml_tree.hpp"

namespace retensor::driver {

/// What may stand at one place. The `what` of the functions below says it in the words of a
/// message: "file:line:column: found 'x', expected <what>".
struct Shape {
  std::set<YamlNode::Kind> kinds;  ///< of values that can have this shape at all
  /// Throws ParseError at the first value that has another shape.
  std::function<void(const YamlNode&)> check;
  /// As JSON Schema; named parts are entered in `parts` and referred to.
  std::function<nlohmann::json(nlohmann::json& parts)> print;
};
using ShapePtr = std::shared_ptr<const Shape>;

/// The tree of a file that has this shape, and of text that stands for the file `name`.
YamlNode load_yaml(const std::string& path, const ShapePtr& shape);
YamlNode parse_yaml(std::string_view text, const std::string& name, const ShapePtr& shape);
/// A JSON Schema document.
nlohmann::json json_schema(const Shape& shape, const std::string& title);

namespace shape {

inline constexpr std::size_t kAnySize = std::numeric_limits<std::size_t>::max();

/// Any scalar but an empty one.
ShapePtr scalar(const std::string& what);
/// A scalar that YAML takes for text: no number, no truth value.
ShapePtr string(const std::string& what);
/// Text that the regular expression (ECMAScript) matches as a whole; with `numbers` any number too
/// whose text it matches.
ShapePtr pattern(const std::string& what, const std::string& expression, bool numbers = false);
ShapePtr word(const std::string& what, const std::vector<std::string>& words);
ShapePtr integer(const std::string& what, std::int64_t lowest, std::int64_t highest);
ShapePtr number(const std::string& what, double lowest = -std::numeric_limits<double>::infinity());
ShapePtr flag(const std::string& what);
/// The value that YAML writes as ~ or leaves out.
ShapePtr nothing();
ShapePtr anything();

ShapePtr list(const std::string& what, const ShapePtr& item, std::size_t least = 1,
              std::size_t most = kAnySize);
/// A list, or one item without it.
ShapePtr list_or_one(const std::string& what, const ShapePtr& item);
/// The first that fits. Where none does, the last that takes a value of this kind says why.
ShapePtr either(const std::string& what, const std::vector<ShapePtr>& shapes);

struct Member {
  std::string name;
  ShapePtr shape;
  bool required = false;
};
Member required(const std::string& name, ShapePtr shape);
Member optional(const std::string& name, ShapePtr shape);

struct MapRules {
  std::string what;
  std::vector<Member> members = {};
  ShapePtr others = nullptr;     ///< values under keys that are no members; none: refused
  std::string other_names = "";  ///< the expression that such keys match, empty: any
  std::string other_what = "";   ///< and what it stands for
  std::string key = "key";       ///< what messages call a key: "axis", "field"
  bool may_be_empty = true;
  /// Exactly one of each of these groups of members.
  std::vector<std::vector<std::string>> one_of = {};
  /// Members that are required beside another: {"query", {"tolerance"}}.
  std::vector<std::pair<std::string, std::vector<std::string>>> beside = {};
  std::string named_by = "";  ///< the member whose text messages put in front
};
ShapePtr map(MapRules rules);
/// The map of a file: as `rules` with the number of the format in front, `schema: 1`. It is looked
/// at first: a newer format may have other keys.
ShapePtr file(MapRules rules);
/// A map under names of the user's choice.
ShapePtr map_of(const std::string& what, ShapePtr values);

/// A map with the shape that the word under `member` chooses.
ShapePtr by_word(const std::string& member, const std::map<std::string, ShapePtr>& shapes,
                 const ShapePtr& otherwise);
/// A map with one shape where it has the key and another where not.
ShapePtr by_key(const std::string& key, const ShapePtr& with, const ShapePtr& without);

/// The same, printed once under this name and then referred to.
ShapePtr named(const std::string& name, const ShapePtr& shape);

}  // namespace shape
}  // namespace retensor::driver
