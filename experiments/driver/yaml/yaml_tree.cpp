// yaml-cpp delivers events; the handler below builds the tree and enforces the limits, so that no
// part of an oversized document is ever held.
#include "experiments/driver/yaml/yaml_tree.hpp"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <optional>
#include <set>
#include <sstream>

#include <fmt/format.h>
#include <boost/algorithm/string/join.hpp>
#include <nlohmann/json.hpp>

#include "common/core/message.hpp"
#include "common/core/text.hpp"

namespace retensor::driver {
namespace fs = std::filesystem;
using Kind = YamlNode::Kind;

namespace {

constexpr std::size_t kMaxValues = 100'000;
constexpr std::size_t kMaxDepth = 16;  ///< the deepest path of the schemas has 6 levels

FilePosition place(const std::string& file, const YAML::Mark& mark) {
  return {file, static_cast<std::uint64_t>(mark.line + 1),
          static_cast<std::uint64_t>(mark.column + 1)};
}

/// Builds the tree on a stack of open lists and maps.
class TreeBuilder : public YAML::EventHandler {
 public:
  explicit TreeBuilder(const std::string& file) : file_(file) {}
  YamlNode result() { return std::move(root_); }

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    add(node(Kind::null, mark, anchor));
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    node(Kind::null, mark, anchor);
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    auto scalar = node(Kind::scalar, mark, anchor);
    if (tag != "?" && tag != "!" && !tag.empty())
      throw ParseError(scalar.at, "tag " + tag, "a plain value");
    for (std::size_t at = 0; at < value.size(); ++at)
      if (is_control(value, at) && value[at] != '\n' && value[at] != '\t')
        throw ParseError(scalar.at, "a control character in " + shown(value), "text");
    scalar.quoted = tag == "!";
    scalar.text = value;
    add(std::move(scalar));
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(node(Kind::list, mark, anchor));
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(node(Kind::map, mark, anchor));
  }
  void OnMapEnd() override { close(); }

 private:
  struct Level {
    YamlNode node;
    std::set<std::string> names = {};            ///< keys so far
    std::optional<YamlNode> key = std::nullopt;  ///< of a map, when its value is next
    bool key_is_next() const { return node.is_map() && !key; }
  };

  YamlNode node(Kind kind, const YAML::Mark& mark, YAML::anchor_t anchor) {
    const auto at = place(file_, mark);
    if (anchor != YAML::NullAnchor)
      throw ParseError(at, "an anchor or alias", "values written out or included");
    if (++values_ > kMaxValues)
      throw ParseError(at, "too many values", fmt::format("at most {}", kMaxValues));
    YamlNode result;
    result.kind = kind;
    result.at = at;
    return result;
  }

  void open(YamlNode node) {
    if (stack_.size() == kMaxDepth)
      throw ParseError(node.at, "deeper nesting", fmt::format("at most {} levels", kMaxDepth));
    if (!stack_.empty() && stack_.back().key_is_next())
      throw ParseError(node.at, "a list or map as key", "a name");
    stack_.push_back({std::move(node)});
  }

  void close() {
    auto node = std::move(stack_.back().node);
    stack_.pop_back();
    add(std::move(node));
  }

  void add(YamlNode node) {
    if (stack_.empty()) {
      root_ = std::move(node);
      return;
    }
    auto& level = stack_.back();
    if (level.key_is_next()) return add_key(level, std::move(node));
    if (level.key) {
      node.key = level.key->text;
      node.key_at = level.key->at;
      level.key.reset();
    }
    level.node.items.push_back(std::move(node));
  }

  static void add_key(Level& level, YamlNode key) {
    if (key.kind != Kind::scalar) throw ParseError(key.at, "an empty key", "a name");
    if (!level.names.insert(key.text).second)
      throw ParseError(key.at, fmt::format("{} a second time", shown(key.text)), "each key once");
    level.key = std::move(key);
  }

  std::string file_;
  YamlNode root_;
  std::vector<Level> stack_;
  std::size_t values_ = 0;
};

bool looks_like_number(const std::string& text) {
  // from_chars also takes inf and nan, which are words here.
  return !text.empty() && text.find_first_not_of("+-.0123456789eE") == std::string::npos;
}

void check_utf8(std::string_view text, const std::string& name) {
  try {
    (void)nlohmann::json(text).dump();
  } catch (const nlohmann::json::type_error&) {
    throw ParseError({name, 0, 0}, "bytes that are not text", "UTF-8");
  }
}

/// Control characters have no place in YAML; yaml-cpp makes bytes of its own from some.
void check_controls(std::string_view text, const std::string& name) {
  const auto is_control = [](unsigned char c) {
    return (c < ' ' && c != '\t' && c != '\n' && c != '\r') || c == 0x7f;
  };
  const auto found = std::ranges::find_if(text, is_control);
  if (found == text.end()) return;
  const std::string_view before(text.begin(), found);
  const auto line = static_cast<std::uint64_t>(std::ranges::count(before, '\n')) + 1;
  const auto column = before.size() - (before.rfind('\n') + 1) + 1;
  throw ParseError({name, line, column},
                   fmt::format("the control character {:#04x}", static_cast<unsigned>(*found)),
                   "text");
}

/// Iterator to the value under a key.
template <class Items>
auto value_under(Items& items, std::string_view key) {
  return std::ranges::find_if(items, [&](const auto& v) { return v.key == key; });
}

}  // namespace

std::string read_small_file(const std::string& path) {
  std::error_code error;
  if (!fs::exists(path, error)) throw InputError(path + ": there is no such file");
  if (!fs::is_regular_file(path, error))
    throw input_error("{}: found {}, expected a file", path,
                      fs::is_directory(path, error) ? "a folder" : "a pipe or a device");
  const auto bytes = fs::file_size(path, error);
  if (error || bytes > kMaxSmallFile)
    throw input_error("{}: found {} bytes, expected at most {}", path, bytes, kMaxSmallFile);
  std::ifstream file(path, std::ios::binary);
  std::string text(bytes, '\0');
  file.read(text.data(), static_cast<std::streamsize>(bytes));
  if (!file) throw SystemError(path + ": can't be read");
  return text;
}

bool lies_below(const std::string& path, const std::string& directory) {
  std::error_code error;
  const auto inner = fs::weakly_canonical(fs::absolute(path), error);
  if (error) return false;
  const auto outer = fs::weakly_canonical(fs::absolute(directory), error);
  if (error) return false;
  return std::mismatch(outer.begin(), outer.end(), inner.begin(), inner.end()).first == outer.end();
}

const YamlNode* YamlNode::find(std::string_view name) const {
  if (!is_map()) return nullptr;
  const auto value = value_under(items, name);
  return value == items.end() ? nullptr : &*value;
}

const YamlNode& YamlNode::need(std::string_view name) const {
  if (const auto* found = find(name)) return *found;
  throw ParseError(at, "no " + std::string(name), fmt::format("the key '{}'", name));
}

const std::vector<YamlNode>& YamlNode::items_of(std::string_view name) const {
  static const std::vector<YamlNode> none;
  const auto* found = find(name);
  return found == nullptr ? none : found->items;
}

YamlNode parse_yaml(std::string_view text, const std::string& name) {
  if (text.size() > kMaxSmallFile)
    throw ParseError({name, 0, 0}, fmt::format("{} bytes", text.size()),
                     fmt::format("at most {}", kMaxSmallFile));
  check_utf8(text, name);
  check_controls(text, name);
  std::istringstream stream{std::string(text)};
  TreeBuilder builder(name);
  try {
    YAML::Parser parser(stream);
    if (!parser.HandleNextDocument(builder)) throw ParseError({name, 1, 1}, "nothing", "a map");
    auto tree = builder.result();
    TreeBuilder second(name);
    if (parser.HandleNextDocument(second))
      throw ParseError({name, 0, 0}, "a second document", "one document");
    return tree;
  } catch (const YAML::Exception& e) {
    throw ParseError(place(name, e.mark), fmt::format("a syntax error ({})", e.msg), "YAML");
  }
}

void overlay(YamlNode& base, YamlNode top) {
  if (!base.is_map() || !top.is_map()) {
    base = std::move(top);
    return;
  }
  for (auto& value : top.items) {
    const auto at = value_under(base.items, value.key);
    if (at == base.items.end())
      base.items.push_back(std::move(value));
    else
      overlay(*at, std::move(value));
  }
}

YamlNode take(YamlNode& map, std::string_view key) {
  const auto at = value_under(map.items, key);
  if (at == map.items.end()) return {};
  auto value = std::move(*at);
  map.items.erase(at);
  return value;
}

ParamValue scalar_value(const YamlNode& node) {
  const auto& text = node.text;
  if (node.quoted) return text;
  if (text == "true" || text == "false") return text == "true";
  const auto unsigned_text = std::string_view(text).substr(text.size() > 1 && text[0] == '+');
  if (const auto integer = number_in<std::int64_t>(unsigned_text)) return *integer;
  if (looks_like_number(text))
    if (const auto number = number_in<double>(unsigned_text)) return *number;
  return text;
}

nlohmann::json json_value(const ParamValue& value) {
  return std::visit([](const auto& v) { return nlohmann::json(v); }, value);
}

ParamValue param_value(const nlohmann::json& value) {
  if (value.is_boolean()) return value.get<bool>();
  if (value.is_number_integer()) return value.get<std::int64_t>();
  if (value.is_number_float()) return value.get<double>();
  return value.get<std::string>();
}

std::string plain_text(const nlohmann::json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

nlohmann::json to_json(const YamlNode& node) {
  if (node.kind == Kind::null) return nullptr;
  if (node.kind == Kind::scalar) return json_value(scalar_value(node));
  auto result = node.is_map() ? nlohmann::json::object() : nlohmann::json::array();
  for (const auto& item : node.items)
    if (node.is_map())
      result[item.key] = to_json(item);
    else
      result.push_back(to_json(item));
  return result;
}

double real(const ParamValue& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return static_cast<double>(*integer);
  const auto* number = std::get_if<double>(&value);
  return number == nullptr ? std::numeric_limits<double>::quiet_NaN() : *number;
}

std::int64_t as_integer(const YamlNode& node) {
  const auto value = scalar_value(node);
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return *integer;
  throw LogicError("no shape has checked that this is an integer: " + described(node));
}

double as_number(const YamlNode& node) {
  const auto value = real(scalar_value(node));
  if (!std::isnan(value)) return value;
  throw LogicError("no shape has checked that this is a number: " + described(node));
}

std::string text_or(const YamlNode& map, std::string_view key, const std::string& standard) {
  const auto* node = map.find(key);
  return node == nullptr ? standard : node->text;
}

std::vector<std::string> texts_of(const YamlNode* list) {
  return list == nullptr ? std::vector<std::string>() : transformed(list->items, &YamlNode::text);
}

std::string shown(const std::string& word) {
  constexpr std::size_t kLongest = 60;
  return fmt::format("'{}'", word.size() <= kLongest ? word : word.substr(0, kLongest) + "...");
}

std::string described(const YamlNode& node) {
  if (node.kind == Kind::scalar) {
    auto plain = node;
    plain.quoted = false;
    const bool hides = node.quoted && !std::holds_alternative<std::string>(scalar_value(plain));
    return shown(node.text) + (hides ? " in quotes" : "");
  }
  return node.is_list() ? "a list" : node.is_map() ? "a map" : "nothing";
}

void refuse_unknown(const FilePosition& at, const std::string& what, const std::string& word,
                    const std::vector<std::string>& candidates) {
  constexpr std::size_t kShown = 16;
  constexpr std::size_t kCompared = 200;
  const auto found = fmt::format("unknown {} {}", what, shown(word));
  if (candidates.empty()) throw ParseError(at, found, "none");
  const auto name = meant(word.substr(0, kCompared), candidates);
  const auto all = candidates.size() <= kShown ? boost::algorithm::join(candidates, ", ") : "";
  if (name.empty())
    throw ParseError(at, found,
                     candidates.size() == 1 ? shown(all)
                     : all.empty()          ? "a known " + what
                                            : "one of " + all);
  const bool tells_more = candidates.size() > 1 && !all.empty();
  throw ParseError(
      at, found,
      fmt::format("'{}'{}", name, tells_more ? fmt::format(" (the nearest of {})", all) : ""));
}

}  // namespace retensor::driver
