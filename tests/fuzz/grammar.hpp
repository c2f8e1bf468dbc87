// Files of a format, drawn from its own shape as JSON Schema: most are as the shape wants them,
// some deviate at one place. The bytes of a fuzzer's input are the choices, so that it steers what
// stands in a file and need not find out how one is written.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <regex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "experiments/driver/yaml/shape.hpp"

namespace retensor::fuzz {

/// Numbers from bytes; zeros once they are used up, with which a file ends soon.
class Choices {
 public:
  explicit Choices(std::string_view bytes) : bytes_(bytes) {}

  /// Below `count`, which is at least 1.
  std::size_t below(std::size_t count) {
    std::size_t value = next();
    if (count > 256) value = value << 8 | next();
    return value % count;
  }
  bool one_in(std::size_t count) { return below(count) == count - 1; }
  template <class List>
  const auto& of(const List& list) {
    return list[below(list.size())];
  }

 private:
  std::size_t next() {
    if (at_ == bytes_.size()) return 0;
    return static_cast<unsigned char>(bytes_[at_++]);
  }

  std::string_view bytes_;
  std::size_t at_ = 0;
};

/// Texts that may stand under a key, beside those of any key under "". Texts that are refused
/// almost everywhere are under kOdd; a sound file has none of them.
using Vocabulary = std::map<std::string, std::vector<std::string>>;
inline const std::string kOdd = "odd";

/// Makes the parts of a file agree where its shape can't ask for it.
using Agree = void (*)(nlohmann::json& file, Choices& choices);

class Grammar {
 public:
  Grammar(const driver::Shape& shape, Vocabulary words, Agree agree = nullptr)
      : schema_(driver::json_schema(shape, "")), words_(std::move(words)), agree_(agree) {}

  /// A file of this format, or one that deviates from it; JSON, which YAML contains.
  std::string file(std::string_view bytes) const {
    Choices choices(bytes);
    const bool sound = !choices.one_in(2);
    auto content = Draw{*this, choices, sound}.value(schema_, "", 0);
    if (sound && agree_ != nullptr) agree_(content, choices);
    return content.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  }

 private:
  using Json = nlohmann::json;

  /// One file on its way.
  struct Draw {
    const Grammar& grammar;
    Choices& choices;
    bool sound;  ///< deviates nowhere

    static constexpr int kDeepest = 12;

    Json value(const Json& schema, const std::string& key, int depth) {
      if (schema.is_boolean() || depth > kDeepest || (!sound && choices.one_in(48))) return any();
      if (schema.contains("$ref")) return value(grammar.part(schema["$ref"]), key, depth);
      if (schema.contains("if")) return value(chosen(schema), key, depth);
      if (schema.contains("const")) return schema["const"];
      if (schema.contains("enum")) return choices.of(schema["enum"]);
      if (schema.contains("anyOf")) return value(choices.of(schema["anyOf"]), key, depth + 1);
      const auto& type = schema.at("type");
      if (!type.is_array()) return typed(type, schema, key, depth);
      const bool worded = grammar.words_.contains(key) && !choices.one_in(8);
      return typed(worded ? "string" : choices.of(type).get<std::string>(), schema, key, depth);
    }

    Json typed(const std::string& type, const Json& schema, const std::string& key, int depth) {
      if (type == "object") return object(schema, key, depth);
      if (type == "array") return array(schema, key, depth);
      if (type == "string") return text(schema, key);
      if (type == "integer" || type == "number") return number(schema, type == "integer");
      if (type == "boolean") return choices.one_in(2);
      return {};
    }

    /// Both sides of a condition, with the word that it asks for.
    const Json& chosen(const Json& schema) {
      const bool more = schema["else"].is_object() && schema["else"].contains("if");
      return choices.one_in(more ? 3 : 2) ? grammar.then(schema) : schema["else"];
    }

    Json object(const Json& schema, const std::string& key, int depth) {
      Json result = Json::object();
      const auto& members = under(schema, "properties");
      const auto add = [&](const std::string& name) {
        if (members.contains(name)) result[name] = value(members[name], name, depth + 1);
      };
      for (const auto& name : under(schema, "required"))
        if (sound || !choices.one_in(48)) add(name);
      for (const auto& [name, member] : members.items())
        if (!result.contains(name) && choices.one_in(4)) add(name);
      others(schema, key, depth, result);
      for (const auto& group : under(schema, "allOf")) {
        const auto& way = choices.of(group["oneOf"])["required"][0];
        for (const auto& other : group["oneOf"]) result.erase(other["required"][0]);
        add(way);
      }
      for (const auto& [name, needed] : under(schema, "dependentRequired").items())
        for (const auto& other : needed)
          if (result.contains(name) && !result.contains(other)) add(other);
      if (!sound && choices.one_in(48)) result[any_text()] = any();
      return result;
    }

    /// Members under names of the file's own choice.
    void others(const Json& schema, const std::string& key, int depth, Json& result) {
      const auto& patterns = under(schema, "patternProperties");
      const auto& names = patterns.empty() ? std::string() : std::prev(patterns.end()).key();
      const auto& shape =
          patterns.empty() ? under(schema, "additionalProperties") : *std::prev(patterns.end());
      if (shape.is_null() || shape == false) return;
      const auto least = schema.value("minProperties", 0U);
      for (auto n = choices.below(4) + (result.empty() ? least : 0); n > 0; --n) {
        const auto name = names.empty() ? any_text() : matching(names, key);
        result[name] = value(shape, name, depth + 1);
      }
    }

    Json array(const Json& schema, const std::string& key, int depth) {
      const auto least = schema.value("minItems", std::size_t{0});
      const auto most = schema.value("maxItems", least + 4);
      Json result = Json::array();
      const auto more = choices.one_in(2) ? choices.below(most - least + 1) : 0;
      for (auto n = std::min(std::max<std::size_t>(least, 1) + more, most); n > 0; --n)
        result.push_back(value(schema["items"], key, depth + 1));
      return result;
    }

    Json text(const Json& schema, const std::string& key) {
      if (schema.contains("pattern")) return matching(schema["pattern"], key);
      const auto own = grammar.words_.find(key);
      return own != grammar.words_.end() && !choices.one_in(8) ? choices.of(own->second)
                                                               : any_text();
    }

    std::string matching(const std::string& pattern, const std::string& key) {
      const auto& fitting = grammar.matching(pattern, key);
      return fitting.empty() || (!sound && choices.one_in(48)) ? any_text() : choices.of(fitting);
    }

    Json number(const Json& schema, bool whole) {
      const auto small = static_cast<std::int64_t>(choices.below(20));
      const auto lowest = schema.value("minimum", 0.0), highest = schema.value("maximum", 1e300);
      switch (choices.below(8)) {
        case 0:
          return schema.value("minimum", Json(0));
        case 1:
          return schema.value("maximum", Json(1'000'000));
        case 2:
          if (!whole) return lowest + 0.5;
          [[fallthrough]];
        default: {
          const auto near = lowest + static_cast<double>(small);
          return static_cast<std::int64_t>(near > highest ? lowest : near);
        }
      }
    }

    Json any() {
      switch (choices.below(8)) {
        case 0:
          return {};
        case 1:
          return Json::array({any_text()});
        case 2:
          return Json{{any_text(), 1}};
        case 3:
          return choices.one_in(2);
        case 4:
          return static_cast<std::int64_t>(choices.below(70'000)) - 3;
        case 5:
          return static_cast<double>(choices.below(1000)) / 8 - 1;
        default:
          return any_text();
      }
    }

    std::string any_text() {
      const bool odd = !sound && choices.one_in(48);
      return choices.of(grammar.words_.at(odd ? kOdd : ""));
    }
  };

  /// What a schema says under a key; nothing, which has no members, where it is silent. No copy: a
  /// file asks for thousands.
  static const Json& under(const Json& schema, const char* key) {
    static const Json nothing;
    const auto found = schema.find(key);
    return found == schema.end() ? nothing : *found;
  }

  /// The schema where a condition holds, with the word that the condition asks for.
  const Json& then(const Json& schema) const {
    const auto [known, fresh] = then_.try_emplace(&schema);
    auto& side = known->second;
    if (!fresh) return side;
    side = schema["then"];
    const auto& condition = schema["if"];
    if (!side.contains("properties")) return side;
    for (const auto& [name, shape] : under(condition, "properties").items())
      side["properties"][name] = shape;
    for (const auto& name : under(condition, "required")) side["required"].push_back(name);
    return side;
  }

  const Json& part(const std::string& reference) const {
    return schema_.at(Json::json_pointer(reference.substr(1)));
  }

  /// Words that a pattern takes: of the key where it has some, else of all.
  const std::vector<std::string>& matching(const std::string& pattern,
                                           const std::string& key) const {
    const auto [known, fresh] = matching_.try_emplace({pattern, key});
    auto& found = known->second;
    if (!fresh) return found;
    const std::regex expression(pattern);
    for (const auto& of : {key, std::string()})
      if (const auto words = words_.find(of); found.empty() && words != words_.end())
        for (const auto& word : words->second)
          if (std::regex_match(word, expression)) found.push_back(word);
    return found;
  }

  Json schema_;
  Vocabulary words_;
  Agree agree_;
  mutable std::map<const Json*, Json> then_;
  mutable std::map<std::pair<std::string, std::string>, std::vector<std::string>> matching_;
};

}  // namespace retensor::fuzz
