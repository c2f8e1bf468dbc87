// Each function below makes the check of a shape beside its form in JSON Schema, so that the two
// say the same.
#include "experiments/driver/yaml/shape.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <regex>

#include <fmt/format.h>
#include <boost/algorithm/string/join.hpp>

namespace retensor::driver {

using nlohmann::json;
using Kind = YamlNode::Kind;

namespace shape {
namespace {

constexpr std::size_t kLongestMatch = 1000;  ///< std::regex recurses with the text's length
constexpr const char* kSchema = "schema";
constexpr std::int64_t kSchemaNumber = 1;

/// Found instead of `expected`.
[[noreturn]] void refuse(const YamlNode& node, const std::string& expected) {
  throw ParseError(node.at, described(node), expected);
}

json typed(const json& type, const std::string& what) {
  return {{"type", type}, {"description", what}};
}

std::string whole(const std::string& expression) {
  return "^(?:" + expression + ")$";
}

bool matches(const std::regex& expression, const std::string& text) {
  return text.size() <= kLongestMatch && std::regex_match(text, expression);
}

ShapePtr make(std::set<Kind> kinds, std::function<void(const YamlNode&)> check,
              std::function<json(json&)> print) {
  return std::make_shared<const Shape>(Shape{std::move(kinds), std::move(check), std::move(print)});
}

/// A scalar that `fits`, which `expected` describes to who wrote another.
template <class Fits>
ShapePtr scalar_that(Fits fits, const std::string& expected, const json& printed) {
  const auto check = [fits, expected](const YamlNode& node) {
    if (node.kind != Kind::scalar || !fits(node)) refuse(node, expected);
  };
  return make({Kind::scalar}, check, [printed](json&) { return printed; });
}

ShapePtr schema_number() {
  const auto any = integer("a schema number", 1, 1'000'000);
  const auto check = [any](const YamlNode& node) {
    any->check(node);
    if (as_integer(node) != kSchemaNumber)
      throw ParseError(node.at, "schema " + node.text,
                       fmt::format("{}, which this program reads", kSchemaNumber));
  };
  const json printed = {{"const", kSchemaNumber}, {"description", "number of the file format"}};
  return make({Kind::scalar}, check, [printed](json&) { return printed; });
}

class Map {
 public:
  explicit Map(MapRules rules) : rules_(std::move(rules)), other_names_(rules_.other_names) {
    for (const auto& member : rules_.members) names_.push_back(member.name);
  }

  void check(const YamlNode& node) const {
    if (!node.is_map()) refuse(node, rules_.what + " as a map");
    try {
      if (!names_.empty() && names_.front() == kSchema)
        rules_.members.front().shape->check(node.need(kSchema));
      check_keys(node);
      for (const auto& value : node.items) shape_of(value.key).check(value);
      check_presence(node);
    } catch (ParseError& e) {
      const auto* name = rules_.named_by.empty() ? nullptr : node.find(rules_.named_by);
      if (name != nullptr) e.add_context(rules_.what + " " + name->text);
      throw;
    }
  }

  json print(json& parts) const {
    auto result = typed("object", rules_.what);
    for (const auto& member : rules_.members) {
      result["properties"][member.name] = member.shape->print(parts);
      if (member.required) result["required"].push_back(member.name);
    }
    const auto others = rules_.others == nullptr ? json(false) : rules_.others->print(parts);
    const bool any_name = rules_.others == nullptr || rules_.other_names.empty();
    if (!any_name) result["patternProperties"][whole(rules_.other_names)] = others;
    result["additionalProperties"] = any_name ? others : json(false);
    if (!rules_.may_be_empty) result["minProperties"] = 1;
    for (const auto& group : rules_.one_of) {
      const auto way = [](const auto& name) { return json{{"required", {name}}}; };
      result["allOf"].push_back({{"oneOf", transformed(group, way)}});
    }
    for (const auto& [name, needed] : rules_.beside) result["dependentRequired"][name] = needed;
    return result;
  }

 private:
  bool is_member(const std::string& name) const {
    return std::ranges::find(names_, name) != names_.end();
  }

  const Shape& shape_of(const std::string& name) const {
    for (const auto& member : rules_.members)
      if (member.name == name) return *member.shape;
    return *rules_.others;
  }

  bool takes_other(const std::string& name) const {
    return rules_.others != nullptr && (rules_.other_names.empty() || matches(other_names_, name));
  }

  void check_keys(const YamlNode& node) const {
    if (node.items.empty() && !rules_.may_be_empty)
      throw ParseError(node.at, fmt::format("no {}s", rules_.key), rules_.what);
    for (const auto& value : node.items) {
      if (is_member(value.key) || takes_other(value.key)) continue;
      if (names_.empty()) throw ParseError(value.key_at, shown(value.key), rules_.other_what);
      refuse_unknown(value.key_at, rules_.key, value.key, names_);
    }
  }

  void check_presence(const YamlNode& node) const {
    for (const auto& member : rules_.members)
      if (member.required) node.need(member.name);
    for (const auto& group : rules_.one_of) check_group(node, group);
    for (const auto& [name, needed] : rules_.beside)
      for (const auto& other : needed)
        if (node.find(name) != nullptr && node.find(other) == nullptr)
          throw ParseError(node.at, fmt::format("{} without {}", name, other),
                           fmt::format("the key '{}' beside it", other));
  }

  static void check_group(const YamlNode& node, const std::vector<std::string>& group) {
    std::vector<std::string> there;
    for (const auto& name : group)
      if (node.find(name) != nullptr) there.push_back(name);
    if (there.size() == 1) return;
    const auto names = boost::algorithm::join(group, ", ");
    if (there.empty()) throw ParseError(node.at, "none of " + names, "exactly one of them");
    throw ParseError(node.at, boost::algorithm::join(there, " beside "), "exactly one of " + names);
  }

  MapRules rules_;
  std::regex other_names_;
  std::vector<std::string> names_;
};

/// " of 2 or more": how many items a list may have.
std::string sizes(std::size_t least, std::size_t most) {
  if (least == most) return fmt::format(" of {}", least);
  if (most != kAnySize) return fmt::format(" of {} to {}", least, most);
  return fmt::format(" of {} or more", least);
}

}  // namespace

ShapePtr scalar(const std::string& what) {
  return scalar_that(
      [](const YamlNode& node) { return !node.text.empty(); }, what,
      {{"type", {"string", "number", "boolean"}}, {"minLength", 1}, {"description", what}});
}

ShapePtr string(const std::string& what) {
  const auto fits = [](const YamlNode& node) {
    return !node.text.empty() && std::holds_alternative<std::string>(scalar_value(node));
  };
  return scalar_that(fits, what, {{"type", "string"}, {"minLength", 1}, {"description", what}});
}

ShapePtr pattern(const std::string& what, const std::string& expression, bool numbers) {
  auto printed = typed(numbers ? json{"string", "number"} : json("string"), what);
  printed["pattern"] = whole(expression);
  printed["maxLength"] = kLongestMatch;
  const auto fits = [regex = std::regex(expression)](const YamlNode& node) {
    return matches(regex, node.text);
  };
  return scalar_that(fits, what, printed);
}

ShapePtr word(const std::string& what, const std::vector<std::string>& words) {
  const auto fits = [what, words](const YamlNode& node) {
    if (std::ranges::find(words, node.text) == words.end())
      refuse_unknown(node.at, what, node.text, words);
    return true;
  };
  return scalar_that(fits, what, {{"enum", words}, {"description", what}});
}

ShapePtr integer(const std::string& what, std::int64_t lowest, std::int64_t highest) {
  auto printed = typed("integer", what);
  printed["minimum"] = lowest;
  printed["maximum"] = highest;
  const auto fits = [lowest, highest](const YamlNode& node) {
    const auto value = scalar_value(node);
    const auto* number = std::get_if<std::int64_t>(&value);
    return number != nullptr && *number >= lowest && *number <= highest;
  };
  return scalar_that(fits, fmt::format("{}: a whole number from {} to {}", what, lowest, highest),
                     printed);
}

ShapePtr number(const std::string& what, double lowest) {
  auto printed = typed("number", what);
  if (!std::isinf(lowest)) printed["minimum"] = lowest;
  const auto expected =
      std::isinf(lowest) ? what + ": a number" : fmt::format("{}: a number from {}", what, lowest);
  // No order holds for the NaN of what is no number.
  const auto fits = [lowest](const YamlNode& node) { return real(scalar_value(node)) >= lowest; };
  return scalar_that(fits, expected, printed);
}

ShapePtr flag(const std::string& what) {
  const auto fits = [](const YamlNode& node) {
    return std::holds_alternative<bool>(scalar_value(node));
  };
  return scalar_that(fits, what + ": true or false", typed("boolean", what));
}

ShapePtr nothing() {
  const auto check = [](const YamlNode& node) {
    if (node.kind != Kind::null) refuse(node, "nothing");
  };
  return make({Kind::null}, check, [](json&) { return json{{"type", "null"}}; });
}

ShapePtr anything() {
  return make(
      {Kind::null, Kind::scalar, Kind::list, Kind::map}, [](const YamlNode&) {},
      [](json&) { return true; });
}

ShapePtr list(const std::string& what, const ShapePtr& item, std::size_t least, std::size_t most) {
  const auto check = [=](const YamlNode& node) {
    if (!node.is_list()) refuse(node, what + " as a list");
    const auto size = node.items.size();
    if (size < least || size > most)
      throw ParseError(node.at, size == 0 ? "an empty list" : fmt::format("a list of {}", size),
                       what + " as a list" + sizes(least, most));
    for (const auto& value : node.items) item->check(value);
  };
  const auto print = [=](json& parts) {
    auto result = typed("array", what);
    result["items"] = item->print(parts);
    if (least > 0) result["minItems"] = least;
    if (most != kAnySize) result["maxItems"] = most;
    return result;
  };
  return make({Kind::list}, check, print);
}

ShapePtr list_or_one(const std::string& what, const ShapePtr& item) {
  return either(what, {item, list(what, item)});
}

ShapePtr either(const std::string& what, const std::vector<ShapePtr>& shapes) {
  std::set<Kind> kinds;
  for (const auto& s : shapes) kinds.insert(s->kinds.begin(), s->kinds.end());
  const auto check = [=](const YamlNode& node) {
    std::optional<ParseError> refusal;
    for (const auto& s : shapes) {
      if (!s->kinds.contains(node.kind)) continue;
      try {
        return s->check(node);
      } catch (const ParseError& e) {
        refusal = e;
      }
    }
    if (refusal) throw ParseError(*refusal);
    refuse(node, what);
  };
  const auto print = [=](json& parts) {
    const auto all = transformed(shapes, [&](const ShapePtr& s) { return s->print(parts); });
    return json{{"anyOf", all}, {"description", what}};
  };
  return make(kinds, check, print);
}

Member required(const std::string& name, ShapePtr shape) {
  return {name, std::move(shape), true};
}

Member optional(const std::string& name, ShapePtr shape) {
  return {name, std::move(shape), false};
}

ShapePtr map(MapRules rules) {
  const auto made = std::make_shared<const Map>(std::move(rules));
  return make(
      {Kind::map}, [made](const YamlNode& node) { made->check(node); },
      [made](json& parts) { return made->print(parts); });
}

ShapePtr file(MapRules rules) {
  rules.members.insert(rules.members.begin(), required(kSchema, schema_number()));
  return map(std::move(rules));
}

ShapePtr map_of(const std::string& what, ShapePtr values) {
  return map({.what = what, .others = std::move(values)});
}

ShapePtr by_word(const std::string& member, const std::map<std::string, ShapePtr>& shapes,
                 const ShapePtr& otherwise) {
  const auto check = [=](const YamlNode& node) {
    const auto* word = node.is_map() ? node.find(member) : nullptr;
    const auto at = word == nullptr ? shapes.end() : shapes.find(word->text);
    (at == shapes.end() ? otherwise : at->second)->check(node);
  };
  const auto print = [=](json& parts) {
    json result = otherwise->print(parts);
    for (const auto& [word, s] : shapes)
      result = {{"if", {{"properties", {{member, {{"const", word}}}}}, {"required", {member}}}},
                {"then", s->print(parts)},
                {"else", result}};
    return result;
  };
  return make({Kind::map}, check, print);
}

ShapePtr by_key(const std::string& key, const ShapePtr& with, const ShapePtr& without) {
  const auto check = [=](const YamlNode& node) {
    (node.is_map() && node.find(key) != nullptr ? with : without)->check(node);
  };
  const auto print = [=](json& parts) {
    return json{{"if", {{"required", {key}}}},
                {"then", with->print(parts)},
                {"else", without->print(parts)}};
  };
  return make({Kind::map}, check, print);
}

ShapePtr named(const std::string& name, const ShapePtr& shape) {
  const auto print = [=](json& parts) {
    if (!parts.contains(name)) {
      auto printed = shape->print(parts);
      parts[name] = std::move(printed);
    }
    return json{{"$ref", "#/$defs/" + name}};
  };
  return make(shape->kinds, shape->check, print);
}

}  // namespace shape

YamlNode parse_yaml(std::string_view text, const std::string& name, const ShapePtr& shape) {
  auto tree = parse_yaml(text, name);
  shape->check(tree);
  return tree;
}

YamlNode load_yaml(const std::string& path, const ShapePtr& shape) {
  return parse_yaml(read_small_file(path), path, shape);
}

json json_schema(const Shape& shape, const std::string& title) {
  json parts = json::object();
  auto result = shape.print(parts);
  result["$schema"] = "https://json-schema.org/draft/2020-12/schema";
  result["title"] = title;
  if (!parts.empty()) result["$defs"] = parts;
  return result;
}

}  // namespace retensor::driver
