// YAML as a tree in which every value knows its place. Input is untrusted: size, depth and the
// number of values are limited, anchors, aliases and tags are refused (they are how a small file
// grows without bound), a key may stand once in its map.
#pragma once

#include <cstdint>
#include <functional>
#include <iterator>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "common/core/error.hpp"
#include "common/method/params.hpp"

namespace retensor::driver {

struct YamlNode {
  enum class Kind { null, scalar, list, map };

  Kind kind = Kind::null;
  FilePosition at;
  std::string text;             ///< of a scalar
  bool quoted = false;          ///< a quoted scalar is a string whatever it looks like
  std::vector<YamlNode> items;  ///< of a list or map
  std::string key;              ///< of a value in a map
  FilePosition key_at;

  bool is_map() const { return kind == Kind::map; }
  bool is_list() const { return kind == Kind::list; }
  /// The value under a key of a map, nullptr when there is none.
  const YamlNode* find(std::string_view key) const;
  /// The same, throwing ParseError at the map when the key is missing.
  const YamlNode& need(std::string_view key) const;
  /// The items of the list or map under a key, none when there is none.
  const std::vector<YamlNode>& items_of(std::string_view key) const;
};

inline constexpr std::size_t kMaxSmallFile = std::size_t{1} << 20;

/// Content of a regular file of at most kMaxSmallFile bytes; throws InputError.
std::string read_small_file(const std::string& path);
/// Whether `path` (links resolved) lies in `directory` or below it.
bool lies_below(const std::string& path, const std::string& directory);

/// What `work` returns; an InputError without a place of its own gets this one in front.
template <class Work>
auto located(const FilePosition& at, Work work) {
  try {
    return work();
  } catch (const ParseError&) {
    throw;
  } catch (InputError& e) {
    const auto part = [](std::uint64_t n) { return n == 0 ? "" : ":" + std::to_string(n); };
    e.add_context(at.file + part(at.line) + part(at.column));
    throw;
  }
}

/// One document; throws ParseError with line and column. `name` stands for the file in messages.
YamlNode parse_yaml(std::string_view text, const std::string& name);

/// Deep merge: maps are merged key by key, everything else of `top` replaces what `base` has.
void overlay(YamlNode& base, YamlNode top);
/// Removes a key of a map and returns its value, null when there is none.
YamlNode take(YamlNode& map, std::string_view key);

/// A scalar by YAML's core schema: truth value, integer, number, else text.
ParamValue scalar_value(const YamlNode& node);
nlohmann::json json_value(const ParamValue& value);
/// Of a truth value, a number or a text; throws json::exception for anything else.
ParamValue param_value(const nlohmann::json& value);
/// A text as it stands, everything else as JSON.
std::string plain_text(const nlohmann::json& value);
nlohmann::json to_json(const YamlNode& node);

/// What a shape (shape.hpp) has let pass, as numbers.
std::int64_t as_integer(const YamlNode& node);
double as_number(const YamlNode& node);
/// NaN where the value is no number.
double real(const ParamValue& value);
/// The text under a key of a map, `standard` when there is none.
std::string text_or(const YamlNode& map, std::string_view key, const std::string& standard = "");

/// The texts of a list's items, none where the list is not there.
std::vector<std::string> texts_of(const YamlNode* list);

/// A word of the input as messages show it: quoted and short.
std::string shown(const std::string& word);
/// What a message says was found: the scalar, or that it is a list, a map, nothing.
std::string described(const YamlNode& node);
/// What `of`, a function or a member, makes of each item.
template <class Items, class Of>
auto transformed(const Items& items, const Of& of) {
  std::vector<std::decay_t<decltype(std::invoke(of, *std::begin(items)))>> made;
  for (const auto& item : items) made.push_back(std::invoke(of, item));
  return made;
}
/// The keys of a map, as candidates for a word that is not among them.
template <class Map>
std::vector<std::string> names_of(const Map& map) {
  return transformed(map, [](const auto& item) { return item.first; });
}
/// "file:line:column: found unknown key 'axis', expected 'axes' (the nearest of ...)".
[[noreturn]] void refuse_unknown(const FilePosition& at, const std::string& what,
                                 const std::string& word,
                                 const std::vector<std::string>& candidates);

}  // namespace retensor::driver
