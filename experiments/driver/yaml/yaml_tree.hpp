// YAML as a tree in which every value knows its place. Input is untrusted: size, depth and the
// number of values are limited, anchors, aliases and tags are refused (they are how a small file
// grows without bound), a key may stand once in its map.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "common/core/error.hpp"
#include "common/method/params.hpp"

namespace retensor::driver {

struct YamlNode {
  enum class Kind { null, scalar, list, map };
  struct Key {
    std::string name;
    FilePosition at;
  };

  Kind kind = Kind::null;
  FilePosition at;
  std::string text;             ///< of a scalar
  bool quoted = false;          ///< a quoted scalar is a string whatever it looks like
  std::vector<YamlNode> items;  ///< of a list; of a map in the order of `keys`
  std::vector<Key> keys;

  bool is_map() const { return kind == Kind::map; }
  bool is_list() const { return kind == Kind::list; }
  /// The value under a key of a map, nullptr when there is none.
  const YamlNode* find(std::string_view key) const;
  /// The same, throwing ParseError at the map when the key is missing.
  const YamlNode& need(std::string_view key) const;
};

/// One document; throws ParseError with line and column. `name` stands for the file in messages.
YamlNode parse_yaml(std::string_view text, const std::string& name);

/// Deep merge: maps are merged key by key, everything else of `top` replaces what `base` has.
void overlay(YamlNode& base, YamlNode top);
/// Removes a key of a map and returns its value, null when there is none.
YamlNode take(YamlNode& map, std::string_view key);

/// A scalar by YAML's core schema: truth value, integer, number, else text.
ParamValue scalar_value(const YamlNode& node);
nlohmann::json to_json(const YamlNode& node);

/// What a shape (shape.hpp) has let pass, as numbers.
std::int64_t as_integer(const YamlNode& node);
double as_number(const YamlNode& node);
/// The text under a key of a map, `standard` when there is none.
std::string text_or(const YamlNode& map, std::string_view key, const std::string& standard = "");

/// A word of the input as messages show it: quoted and short.
std::string shown(const std::string& word);
/// What a message says was found: the scalar, or that it is a list, a map, nothing.
std::string described(const YamlNode& node);
/// "file:line:column: found unknown key 'axis', expected 'axes' (the nearest of ...)".
[[noreturn]] void refuse_unknown(const FilePosition& at, const std::string& what,
                                 const std::string& word,
                                 const std::vector<std::string>& candidates);

}  // namespace retensor::driver
