// yaml-cpp delivers events; the handler below builds the tree and enforces the limits, so that no
// part of an oversized document is ever held.
#include "experiments/driver/yaml/yaml_tree.hpp"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>
#include <sstream>

#include <fmt/format.h>
#include <boost/algorithm/string/join.hpp>
#include <nlohmann/json.hpp>

#include "common/core/text.hpp"
#include "experiments/driver/yaml/files.hpp"

namespace retensor::driver {
namespace {

constexpr std::size_t kMaxValues = 100'000;
constexpr std::size_t kMaxDepth = 16;  ///< the deepest path of the schemas has 6 levels

/// Builds the tree on a stack of open lists and maps.
class TreeBuilder : public YAML::EventHandler {
 public:
  explicit TreeBuilder(const std::string& file) : file_(file) {}
  YamlNode result() { return std::move(root_); }

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    refuse_anchor(mark, anchor);
    add(node(YamlNode::Kind::null, mark));
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override { refuse_anchor(mark, 1); }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    refuse_anchor(mark, anchor);
    if (tag != "?" && tag != "!" && !tag.empty())
      throw ParseError(place(mark), "tag " + tag, "a plain value");
    for (std::size_t at = 0; at < value.size(); ++at)
      if (is_control(value, at) && value[at] != '\n' && value[at] != '\t')
        throw ParseError(place(mark), "a control character in " + shown(value), "text");
    auto scalar = node(YamlNode::Kind::scalar, mark);
    scalar.quoted = tag == "!";
    scalar.text = value;
    add(std::move(scalar));
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    refuse_anchor(mark, anchor);
    open(node(YamlNode::Kind::list, mark));
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    refuse_anchor(mark, anchor);
    open(node(YamlNode::Kind::map, mark));
  }
  void OnMapEnd() override { close(); }

 private:
  struct Level {
    YamlNode node;
    std::set<std::string> names;  ///< keys so far
    bool key_is_next = true;
  };

  FilePosition place(const YAML::Mark& mark) const {
    return {file_, static_cast<std::uint64_t>(mark.line + 1),
            static_cast<std::uint64_t>(mark.column + 1)};
  }

  YamlNode node(YamlNode::Kind kind, const YAML::Mark& mark) {
    if (++values_ > kMaxValues)
      throw ParseError(place(mark), "too many values", fmt::format("at most {}", kMaxValues));
    YamlNode result;
    result.kind = kind;
    result.at = place(mark);
    return result;
  }

  void refuse_anchor(const YAML::Mark& mark, YAML::anchor_t anchor) const {
    if (anchor != YAML::NullAnchor)
      throw ParseError(place(mark), "an anchor or alias", "values written out or included");
  }

  void open(YamlNode node) {
    if (stack_.size() == kMaxDepth)
      throw ParseError(node.at, "deeper nesting", fmt::format("at most {} levels", kMaxDepth));
    if (!stack_.empty() && stack_.back().node.is_map() && stack_.back().key_is_next)
      throw ParseError(node.at, "a list or map as key", "a name");
    stack_.push_back({std::move(node), {}, true});
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
    if (level.node.is_map() && level.key_is_next) {
      add_key(level, node);
      return;
    }
    level.node.items.push_back(std::move(node));
    level.key_is_next = true;
  }

  static void add_key(Level& level, const YamlNode& key) {
    if (key.kind != YamlNode::Kind::scalar) throw ParseError(key.at, "an empty key", "a name");
    if (!level.names.insert(key.text).second)
      throw ParseError(key.at, fmt::format("{} a second time", shown(key.text)), "each key once");
    level.node.keys.push_back({key.text, key.at});
    level.key_is_next = false;
  }

  std::string file_;
  YamlNode root_;
  std::vector<Level> stack_;
  std::size_t values_ = 0;
};

template <class T>
std::optional<T> whole(const std::string& text) {
  T value{};
  const char* first = text.data() + (text.size() > 1 && text[0] == '+' ? 1 : 0);
  const auto [end, error] = std::from_chars(first, text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

bool looks_like_number(const std::string& text) {
  // from_chars also takes inf and nan, which are words here.
  return !text.empty() && text.find_first_not_of("+-.0123456789eE") == std::string::npos;
}

void check_utf8(std::string_view text, const std::string& name) {
  try {
    (void)nlohmann::json(text).dump();
  } catch (const nlohmann::json::type_error&) {
    throw ParseError({name, 0, 0}, "bytes that are no text", "UTF-8");
  }
}

std::size_t position_of(const YamlNode& map, std::string_view key) {
  const auto at = std::find_if(map.keys.begin(), map.keys.end(),
                               [key](const YamlNode::Key& k) { return k.name == key; });
  return static_cast<std::size_t>(at - map.keys.begin());
}

}  // namespace

const YamlNode* YamlNode::find(std::string_view key) const {
  const auto k = position_of(*this, key);
  return k == keys.size() ? nullptr : &items[k];
}

const YamlNode& YamlNode::need(std::string_view key) const {
  if (const auto* found = find(key)) return *found;
  throw ParseError(at, "no " + std::string(key), fmt::format("the key '{}'", key));
}

YamlNode parse_yaml(std::string_view text, const std::string& name) {
  if (text.size() > kMaxSmallFile)
    throw ParseError({name, 0, 0}, fmt::format("{} bytes", text.size()),
                     fmt::format("at most {}", kMaxSmallFile));
  check_utf8(text, name);
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
    throw ParseError({name, static_cast<std::uint64_t>(e.mark.line + 1),
                      static_cast<std::uint64_t>(e.mark.column + 1)},
                     fmt::format("a flaw ({})", e.msg), "YAML");
  }
}

void overlay(YamlNode& base, YamlNode top) {
  if (!base.is_map() || !top.is_map()) {
    base = std::move(top);
    return;
  }
  for (std::size_t k = 0; k < top.keys.size(); ++k) {
    const auto at = position_of(base, top.keys[k].name);
    if (at < base.items.size()) {
      overlay(base.items[at], std::move(top.items[k]));
    } else {
      base.keys.push_back(std::move(top.keys[k]));
      base.items.push_back(std::move(top.items[k]));
    }
  }
}

YamlNode take(YamlNode& map, std::string_view key) {
  const auto k = position_of(map, key);
  if (k == map.keys.size()) return {};
  auto value = std::move(map.items[k]);
  map.keys.erase(map.keys.begin() + static_cast<std::ptrdiff_t>(k));
  map.items.erase(map.items.begin() + static_cast<std::ptrdiff_t>(k));
  return value;
}

ParamValue scalar_value(const YamlNode& node) {
  const auto& text = node.text;
  if (node.quoted) return text;
  if (text == "true" || text == "false") return text == "true";
  if (const auto integer = whole<std::int64_t>(text)) return *integer;
  if (looks_like_number(text))
    if (const auto number = whole<double>(text)) return *number;
  return text;
}

nlohmann::json to_json(const YamlNode& node) {
  switch (node.kind) {
    case YamlNode::Kind::null:
      return nullptr;
    case YamlNode::Kind::scalar:
      return std::visit([](const auto& v) { return nlohmann::json(v); }, scalar_value(node));
    case YamlNode::Kind::list: {
      auto list = nlohmann::json::array();
      for (const auto& item : node.items) list.push_back(to_json(item));
      return list;
    }
    case YamlNode::Kind::map:
      break;
  }
  auto map = nlohmann::json::object();
  for (std::size_t k = 0; k < node.keys.size(); ++k)
    map[node.keys[k].name] = to_json(node.items[k]);
  return map;
}

std::int64_t as_integer(const YamlNode& node) {
  const auto value = scalar_value(node);
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return *integer;
  throw LogicError("no shape has checked that this is an integer: " + described(node));
}

double as_number(const YamlNode& node) {
  const auto value = scalar_value(node);
  if (const auto* number = std::get_if<double>(&value)) return *number;
  return static_cast<double>(as_integer(node));
}

std::string text_or(const YamlNode& map, std::string_view key, const std::string& standard) {
  const auto* node = map.find(key);
  return node == nullptr ? standard : node->text;
}

std::string shown(const std::string& word) {
  constexpr std::size_t kLongest = 60;
  return fmt::format("'{}'", word.size() <= kLongest ? word : word.substr(0, kLongest) + "...");
}

std::string described(const YamlNode& node) {
  switch (node.kind) {
    case YamlNode::Kind::null:
      return "nothing";
    case YamlNode::Kind::list:
      return "a list";
    case YamlNode::Kind::map:
      return "a map";
    case YamlNode::Kind::scalar:
      break;
  }
  return shown(node.text);
}

void refuse_unknown(const FilePosition& at, const std::string& what, const std::string& word,
                    const std::vector<std::string>& candidates) {
  constexpr std::size_t kShown = 16;
  constexpr std::size_t kCompared = 200;
  const auto found = fmt::format("unknown {} {}", what, shown(word));
  if (candidates.empty()) throw ParseError(at, found, "none");
  auto expected = fmt::format("'{}'", nearest(word.substr(0, kCompared), candidates));
  if (candidates.size() > 1 && candidates.size() <= kShown)
    expected += fmt::format(" (the nearest of {})", boost::algorithm::join(candidates, ", "));
  throw ParseError(at, found, expected);
}

}  // namespace retensor::driver
