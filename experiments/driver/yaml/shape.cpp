// One class per kind of shape; each holds its check beside its form in JSON Schema, so that the two
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

/// Found instead of `expected`.
[[noreturn]] void refuse(const YamlNode& node, const std::string& expected) {
  throw ParseError(node.at, described(node), expected);
}

json typed(const char* type, const std::string& what) {
  return {{"type", type}, {"description", what}};
}

std::string whole(const std::string& expression) {
  return "^(?:" + expression + ")$";
}

json pattern_of(const std::string& expression) {
  return {{"pattern", whole(expression)}, {"maxLength", kLongestMatch}};
}

bool matches(const std::regex& expression, const std::string& text) {
  return text.size() <= kLongestMatch && std::regex_match(text, expression);
}

/// Any scalar but an empty one; each kind of it says which of them fit.
class Scalar : public Shape {
 public:
  explicit Scalar(const std::string& what) : what_(what) {}
  bool takes(Kind kind) const override { return kind == Kind::scalar; }
  void check(const YamlNode& node) const override {
    if (node.kind != Kind::scalar || !fits(node)) refuse(node, what_);
  }
  json print(json&) const override {
    return {{"type", {"string", "number", "boolean"}}, {"minLength", 1}, {"description", what_}};
  }

 protected:
  virtual bool fits(const YamlNode& node) const { return !node.text.empty(); }
  const std::string& what() const { return what_; }

 private:
  std::string what_;
};

class String : public Scalar {
 public:
  using Scalar::Scalar;
  json print(json&) const override {
    return {{"type", "string"}, {"minLength", 1}, {"description", what()}};
  }

 protected:
  bool fits(const YamlNode& node) const override {
    return !node.text.empty() && std::holds_alternative<std::string>(scalar_value(node));
  }
};

class Pattern : public Scalar {
 public:
  Pattern(const std::string& what, const std::string& expression, bool numbers)
      : Scalar(what), expression_(expression), regex_(expression), numbers_(numbers) {}
  json print(json&) const override {
    auto result = pattern_of(expression_);
    result["type"] = numbers_ ? json{"string", "number"} : json("string");
    result["description"] = what();
    return result;
  }

 protected:
  bool fits(const YamlNode& node) const override { return matches(regex_, node.text); }

 private:
  std::string expression_;
  std::regex regex_;
  bool numbers_;
};

class Word : public Scalar {
 public:
  Word(const std::string& what, std::vector<std::string> words)
      : Scalar(what), words_(std::move(words)) {}
  void check(const YamlNode& node) const override {
    Scalar::check(node);
    if (std::find(words_.begin(), words_.end(), node.text) == words_.end())
      refuse_unknown(node.at, what(), node.text, words_);
  }
  json print(json&) const override { return {{"enum", words_}, {"description", what()}}; }

 protected:
  bool fits(const YamlNode&) const override { return true; }

 private:
  std::vector<std::string> words_;
};

class Integer : public Scalar {
 public:
  Integer(const std::string& what, std::int64_t lowest, std::int64_t highest)
      : Scalar(fmt::format("{}: {} to {}", what, lowest, highest)),
        name_(what),
        lowest_(lowest),
        highest_(highest) {}
  json print(json&) const override {
    auto result = typed("integer", name_);
    result["minimum"] = lowest_;
    result["maximum"] = highest_;
    return result;
  }

 protected:
  bool fits(const YamlNode& node) const override {
    const auto value = scalar_value(node);
    const auto* number = std::get_if<std::int64_t>(&value);
    return number != nullptr && *number >= lowest_ && *number <= highest_;
  }

 private:
  std::string name_;
  std::int64_t lowest_, highest_;
};

class Number : public Scalar {
 public:
  Number(const std::string& what, double lowest)
      : Scalar(std::isinf(lowest) ? what + ": a number"
                                  : fmt::format("{}: a number from {}", what, lowest)),
        name_(what),
        lowest_(lowest) {}
  json print(json&) const override {
    auto result = typed("number", name_);
    if (!std::isinf(lowest_)) result["minimum"] = lowest_;
    return result;
  }

 protected:
  bool fits(const YamlNode& node) const override {
    const auto value = scalar_value(node);
    if (const auto* integer = std::get_if<std::int64_t>(&value))
      return static_cast<double>(*integer) >= lowest_;
    const auto* number = std::get_if<double>(&value);
    return number != nullptr && *number >= lowest_;
  }

 private:
  std::string name_;
  double lowest_;
};

class Flag : public Scalar {
 public:
  explicit Flag(const std::string& what) : Scalar(what + ": true or false"), name_(what) {}
  json print(json&) const override { return typed("boolean", name_); }

 protected:
  bool fits(const YamlNode& node) const override {
    return std::holds_alternative<bool>(scalar_value(node));
  }

 private:
  std::string name_;
};

class Nothing : public Shape {
 public:
  bool takes(Kind kind) const override { return kind == Kind::null; }
  void check(const YamlNode& node) const override {
    if (node.kind != Kind::null) refuse(node, "nothing");
  }
  json print(json&) const override { return {{"type", "null"}}; }
};

class Anything : public Shape {
 public:
  bool takes(Kind) const override { return true; }
  void check(const YamlNode&) const override {}
  json print(json&) const override { return true; }
};

class List : public Shape {
 public:
  List(const std::string& what, ShapePtr item, std::size_t least, std::size_t most)
      : what_(what), item_(std::move(item)), least_(least), most_(most) {}
  bool takes(Kind kind) const override { return kind == Kind::list; }
  void check(const YamlNode& node) const override {
    if (!node.is_list()) refuse(node, what_ + " as a list");
    const auto size = node.items.size();
    if (size < least_ || size > most_)
      throw ParseError(node.at, size == 0 ? "an empty list" : fmt::format("a list of {}", size),
                       what_ + " as a list" + sizes());
    for (const auto& item : node.items) item_->check(item);
  }
  json print(json& parts) const override {
    auto result = typed("array", what_);
    result["items"] = item_->print(parts);
    if (least_ > 0) result["minItems"] = least_;
    if (most_ != kAnySize) result["maxItems"] = most_;
    return result;
  }

 private:
  std::string sizes() const {
    if (least_ == most_) return fmt::format(" of {}", least_);
    if (most_ != kAnySize) return fmt::format(" of {} to {}", least_, most_);
    return least_ > 1 ? fmt::format(" of {} or more", least_) : "";
  }

  std::string what_;
  ShapePtr item_;
  std::size_t least_, most_;
};

class Either : public Shape {
 public:
  Either(const std::string& what, std::vector<ShapePtr> shapes)
      : what_(what), shapes_(std::move(shapes)) {}
  bool takes(Kind kind) const override {
    return std::any_of(shapes_.begin(), shapes_.end(),
                       [kind](const ShapePtr& s) { return s->takes(kind); });
  }
  void check(const YamlNode& node) const override {
    std::optional<ParseError> refusal;
    for (const auto& s : shapes_) {
      if (!s->takes(node.kind)) continue;
      try {
        return s->check(node);
      } catch (const ParseError& e) {
        refusal = e;
      }
    }
    if (refusal) throw ParseError(*refusal);
    refuse(node, what_);
  }
  json print(json& parts) const override {
    json all = json::array();
    for (const auto& s : shapes_) all.push_back(s->print(parts));
    return {{"anyOf", all}, {"description", what_}};
  }

 private:
  std::string what_;
  std::vector<ShapePtr> shapes_;
};

constexpr const char* kSchema = "schema";
constexpr std::int64_t kSchemaNumber = 1;

class SchemaNumber : public Shape {
 public:
  bool takes(Kind kind) const override { return kind == Kind::scalar; }
  void check(const YamlNode& node) const override {
    Integer("a schema number", 1, 1'000'000).check(node);
    if (as_integer(node) != kSchemaNumber)
      throw ParseError(node.at, "schema " + node.text,
                       fmt::format("{}, which this program reads", kSchemaNumber));
  }
  json print(json&) const override {
    return {{"const", kSchemaNumber}, {"description", "number of the file format"}};
  }
};

class Map : public Shape {
 public:
  explicit Map(MapRules rules) : rules_(std::move(rules)), other_names_(rules_.other_names) {
    for (const auto& member : rules_.members) names_.push_back(member.name);
  }
  bool takes(Kind kind) const override { return kind == Kind::map; }

  void check(const YamlNode& node) const override {
    if (!node.is_map()) refuse(node, rules_.what + " as a map");
    try {
      if (!names_.empty() && names_.front() == kSchema)
        rules_.members.front().shape->check(node.need(kSchema));
      check_keys(node);
      for (std::size_t k = 0; k < node.keys.size(); ++k)
        shape_of(node.keys[k].name).check(node.items[k]);
      check_presence(node);
    } catch (ParseError& e) {
      const auto* name = rules_.named_by.empty() ? nullptr : node.find(rules_.named_by);
      if (name != nullptr) e.add_context(rules_.what + " " + name->text);
      throw;
    }
  }

  json print(json& parts) const override {
    auto result = typed("object", rules_.what);
    for (const auto& member : rules_.members) {
      result["properties"][member.name] = member.shape->print(parts);
      if (member.required) result["required"].push_back(member.name);
    }
    if (rules_.others == nullptr)
      result["additionalProperties"] = false;
    else if (rules_.other_names.empty())
      result["additionalProperties"] = rules_.others->print(parts);
    else {
      result["patternProperties"][whole(rules_.other_names)] = rules_.others->print(parts);
      result["additionalProperties"] = false;
    }
    if (!rules_.may_be_empty) result["minProperties"] = 1;
    for (const auto& group : rules_.one_of) {
      json ways = json::array();
      for (const auto& name : group) ways.push_back({{"required", {name}}});
      result["allOf"].push_back({{"oneOf", ways}});
    }
    for (const auto& [name, needed] : rules_.beside) result["dependentRequired"][name] = needed;
    return result;
  }

 private:
  const Shape& shape_of(const std::string& name) const {
    const auto at = std::find(names_.begin(), names_.end(), name);
    return at == names_.end()
               ? *rules_.others
               : *rules_.members[static_cast<std::size_t>(at - names_.begin())].shape;
  }

  bool takes_other(const std::string& name) const {
    return rules_.others != nullptr && (rules_.other_names.empty() || matches(other_names_, name));
  }

  void check_keys(const YamlNode& node) const {
    if (node.keys.empty() && !rules_.may_be_empty)
      throw ParseError(node.at, fmt::format("no {}s", rules_.key), rules_.what);
    for (const auto& key : node.keys) {
      if (std::find(names_.begin(), names_.end(), key.name) != names_.end() ||
          takes_other(key.name))
        continue;
      if (names_.empty()) throw ParseError(key.at, shown(key.name), rules_.other_what);
      refuse_unknown(key.at, rules_.key, key.name, names_);
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

class ByWord : public Shape {
 public:
  ByWord(const std::string& member, std::map<std::string, ShapePtr> shapes, ShapePtr otherwise)
      : member_(member), shapes_(std::move(shapes)), otherwise_(std::move(otherwise)) {}
  bool takes(Kind kind) const override { return kind == Kind::map; }
  void check(const YamlNode& node) const override {
    const auto* word = node.is_map() ? node.find(member_) : nullptr;
    const auto at = word == nullptr ? shapes_.end() : shapes_.find(word->text);
    (at == shapes_.end() ? otherwise_ : at->second)->check(node);
  }
  json print(json& parts) const override {
    json result = otherwise_->print(parts);
    for (const auto& [word, s] : shapes_)
      result = {{"if", {{"properties", {{member_, {{"const", word}}}}}, {"required", {member_}}}},
                {"then", s->print(parts)},
                {"else", result}};
    return result;
  }

 private:
  std::string member_;
  std::map<std::string, ShapePtr> shapes_;
  ShapePtr otherwise_;
};

class ByKey : public Shape {
 public:
  ByKey(const std::string& key, ShapePtr with, ShapePtr without)
      : key_(key), with_(std::move(with)), without_(std::move(without)) {}
  bool takes(Kind kind) const override { return kind == Kind::map; }
  void check(const YamlNode& node) const override {
    (node.is_map() && node.find(key_) != nullptr ? with_ : without_)->check(node);
  }
  json print(json& parts) const override {
    return {{"if", {{"required", {key_}}}},
            {"then", with_->print(parts)},
            {"else", without_->print(parts)}};
  }

 private:
  std::string key_;
  ShapePtr with_, without_;
};

class Named : public Shape {
 public:
  Named(const std::string& name, ShapePtr shape) : name_(name), shape_(std::move(shape)) {}
  bool takes(Kind kind) const override { return shape_->takes(kind); }
  void check(const YamlNode& node) const override { shape_->check(node); }
  json print(json& parts) const override {
    if (!parts.contains(name_)) {
      auto printed = shape_->print(parts);
      parts[name_] = std::move(printed);
    }
    return {{"$ref", "#/$defs/" + name_}};
  }

 private:
  std::string name_;
  ShapePtr shape_;
};

}  // namespace

ShapePtr scalar(const std::string& what) {
  return std::make_shared<Scalar>(what);
}
ShapePtr string(const std::string& what) {
  return std::make_shared<String>(what);
}
ShapePtr pattern(const std::string& what, const std::string& expression, bool numbers) {
  return std::make_shared<Pattern>(what, expression, numbers);
}
ShapePtr word(const std::string& what, std::vector<std::string> words) {
  return std::make_shared<Word>(what, std::move(words));
}
ShapePtr integer(const std::string& what, std::int64_t lowest, std::int64_t highest) {
  return std::make_shared<Integer>(what, lowest, highest);
}
ShapePtr number(const std::string& what, double lowest) {
  return std::make_shared<Number>(what, lowest);
}
ShapePtr flag(const std::string& what) {
  return std::make_shared<Flag>(what);
}
ShapePtr nothing() {
  return std::make_shared<Nothing>();
}
ShapePtr anything() {
  return std::make_shared<Anything>();
}
ShapePtr list(const std::string& what, ShapePtr item, std::size_t least, std::size_t most) {
  return std::make_shared<List>(what, std::move(item), least, most);
}
ShapePtr list_or_one(const std::string& what, const ShapePtr& item) {
  return either(what, {item, list(what, item)});
}
ShapePtr either(const std::string& what, std::vector<ShapePtr> shapes) {
  return std::make_shared<Either>(what, std::move(shapes));
}
Member required(const std::string& name, ShapePtr shape) {
  return {name, std::move(shape), true};
}
Member optional(const std::string& name, ShapePtr shape) {
  return {name, std::move(shape), false};
}
ShapePtr map(MapRules rules) {
  return std::make_shared<Map>(std::move(rules));
}
ShapePtr file(MapRules rules) {
  rules.members.insert(rules.members.begin(), required(kSchema, std::make_shared<SchemaNumber>()));
  return map(std::move(rules));
}
ShapePtr map_of(const std::string& what, ShapePtr values) {
  return map({.what = what, .others = std::move(values)});
}
ShapePtr by_word(const std::string& member, std::map<std::string, ShapePtr> shapes,
                 ShapePtr otherwise) {
  return std::make_shared<ByWord>(member, std::move(shapes), std::move(otherwise));
}
ShapePtr by_key(const std::string& key, ShapePtr with, ShapePtr without) {
  return std::make_shared<ByKey>(key, std::move(with), std::move(without));
}
ShapePtr named(const std::string& name, ShapePtr shape) {
  return std::make_shared<Named>(name, std::move(shape));
}

}  // namespace shape

json json_schema(const Shape& shape, const std::string& title) {
  json parts = json::object();
  auto result = shape.print(parts);
  result["$schema"] = "https://json-schema.org/draft/2020-12/schema";
  result["title"] = title;
  if (!parts.empty()) result["$defs"] = parts;
  return result;
}

}  // namespace retensor::driver
