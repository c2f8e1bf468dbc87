// From the merged tree to the checked form: one function per section of a spec.
#include "experiments/driver/spec/spec.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <set>

#include <fmt/format.h>
#include <boost/algorithm/string/join.hpp>

#include "experiments/driver/spec/axes.hpp"
#include "experiments/driver/spec/case.hpp"
#include "experiments/driver/spec/spec_files.hpp"
#include "experiments/driver/yaml/files.hpp"
#include "experiments/driver/yaml/yaml_tree.hpp"

namespace retensor::driver {
namespace {

using Choices = std::map<std::string, std::vector<Located>>;

const std::vector<std::string> kOverlayKeys = {"title",   "operation", "variant", "axes",  "zip",
                                               "exclude", "methods",   "measure", "figure"};

std::vector<std::string> spec_keys() {
  auto keys = kOverlayKeys;
  keys.insert(keys.begin(), {"schema", "artifact", "include", "profiles", "of"});
  return keys;
}

/// What a spec has that draws the rows of another.
const std::vector<std::string> kViewKeys = {"schema", "artifact", "title", "of", "figure"};

/// A scalar is a list of one.
std::vector<Located> values_of(const YamlNode& node, const std::string& what) {
  std::vector<Located> values;
  if (!node.is_list()) {
    values.push_back({scalar_value(node, what), node.at});
    return values;
  }
  for (const auto& item : as_list(node, what).items)
    values.push_back({scalar_value(item, what), item.at});
  return values;
}

std::vector<Located> checked_values(const std::string& axis, const YamlNode& node) {
  auto values = values_of(node, "a value of " + axis);
  for (const auto& value : values) check_axis(axis, value);
  return values;
}

Choices axes_of(const YamlNode& node) {
  check_map(node, "axes", axis_names());
  Choices axes;
  for (std::size_t k = 0; k < node.keys.size(); ++k)
    axes[node.keys[k].name] = checked_values(node.keys[k].name, node.items[k]);
  return axes;
}

std::vector<Choices> zips_of(const YamlNode& node, const Choices& axes) {
  std::vector<Choices> zips;
  std::set<std::string> taken;
  for (const auto& [name, values] : axes) taken.insert(name);
  for (const auto& group : as_list(node, "zip").items) {
    zips.push_back(axes_of(group));
    std::size_t length = 0;
    for (std::size_t k = 0; k < group.keys.size(); ++k) {
      const auto& key = group.keys[k];
      const auto size = zips.back()[key.name].size();
      if (!taken.insert(key.name).second)
        throw ParseError(key.at, fmt::format("'{}' a second time", key.name),
                         "an axis in one place: axes or one group of zip");
      if (k > 0 && size != length)
        throw ParseError(key.at, fmt::format("{} values", size),
                         fmt::format("{} as in the group's first list", length));
      length = size;
    }
    if (length == 0) throw ParseError(group.at, "an empty group", "axes with lists");
  }
  return zips;
}

std::vector<std::string> exclusion_keys() {
  auto keys = axis_names();
  keys.insert(keys.begin(), {"operation", "variant", "method"});
  return keys;
}

Exclusion exclusion_of(const YamlNode& node) {
  check_map(node, "an exclusion", {"when", "reason"});
  Exclusion exclusion;
  exclusion.reason = as_text(node.need("reason"), "a reason");
  const auto& when = node.need("when");
  if (!when.is_map() || when.keys.empty()) throw ParseError(when.at, "no conditions", "a map");
  const auto known = exclusion_keys();
  for (std::size_t k = 0; k < when.keys.size(); ++k) {
    const auto& key = when.keys[k];
    if (!key.name.starts_with("params.") &&
        std::find(known.begin(), known.end(), key.name) == known.end())
      refuse_unknown(key.at, "condition", key.name, known);
    exclusion.when[key.name] = checked_values(key.name, when.items[k]);
  }
  return exclusion;
}

MethodEntry method_of(const YamlNode& node) {
  check_map(node, "a method", {"id", "params"});
  const auto& id = node.need("id");
  MethodEntry entry{as_text(id, "the id of a method"), id.at, {}};
  const auto* params = node.find("params");
  if (params == nullptr) return entry;
  if (!params->is_map()) throw ParseError(params->at, "no map", "params as a map");
  for (std::size_t k = 0; k < params->keys.size(); ++k)
    entry.params[params->keys[k].name] =
        values_of(params->items[k], "a value of " + params->keys[k].name);
  return entry;
}

/// A number with one of the units: "60s", "8GiB".
std::uint64_t quantity(const YamlNode& node, const std::string& what,
                       const std::vector<std::pair<std::string, std::uint64_t>>& units) {
  const auto text = as_text(node, what);
  const auto digits = std::min(text.find_first_not_of("0123456789"), text.size());
  constexpr std::size_t kMaxDigits = 9;  // times the largest unit stays below 2^63
  if (digits > 0 && digits <= kMaxDigits)
    for (const auto& [unit, factor] : units)
      if (text.substr(digits) == unit) return std::stoull(text.substr(0, digits)) * factor;
  throw ParseError(node.at, fmt::format("'{}'", text), what);
}

template <class Enum>
Enum word_of(const YamlNode& node, const std::string& what, Enum last) {
  std::vector<std::string> words;
  for (int k = 0; k <= static_cast<int>(last); ++k) words.emplace_back(name(static_cast<Enum>(k)));
  const auto text = as_text(node, what);
  const auto at = std::find(words.begin(), words.end(), text);
  if (at == words.end()) refuse_unknown(node.at, what, text, words);
  return static_cast<Enum>(at - words.begin());
}

/// A status of a row that is not ok.
std::string status_of(const Located& located) {
  static const std::vector<std::string> known = {"unsupported", "wrong",   "failed",
                                                 "oom",         "timeout", "crashed"};
  auto word = text(located.value);
  if (std::find(known.begin(), known.end(), word) == known.end())
    refuse_unknown(located.at, "status", word, known);
  return word;
}

MeasureSpec measure_of(const YamlNode& node) {
  check_map(node, "measure",
            {"warmup", "samples", "preparations", "timeout", "memory", "order", "cache", "launches",
             "ceilings", "counters", "expected"});
  MeasureSpec m;
  const auto integer = [&node](const char* key, std::int64_t lowest, int& value) {
    constexpr std::int64_t kMost = 100'000;
    if (const auto* found = node.find(key))
      value = static_cast<int>(as_integer(*found, key, lowest, kMost));
  };
  integer("warmup", 0, m.timing.warmup);
  integer("samples", 1, m.timing.samples);
  integer("preparations", 1, m.preparations);
  integer("launches", 1, m.launches);
  if (const auto* timeout = node.find("timeout"))
    m.timeout = std::chrono::milliseconds(
        quantity(*timeout, "a time such as 500ms, 60s, 5m or 1h",
                 {{"ms", 1}, {"s", 1000}, {"m", 60'000}, {"h", 3'600'000}}));
  if (const auto* memory = node.find("memory"))
    m.memory = quantity(*memory, "a size such as 512MiB or 8GiB (0: no limit)",
                        {{"", 1}, {"KiB", 1ULL << 10}, {"MiB", 1ULL << 20}, {"GiB", 1ULL << 30}});
  if (const auto* order = node.find("order"))
    m.timing.order = word_of(*order, "order", Order::blocked);
  if (const auto* cache = node.find("cache"))
    m.timing.cache = word_of(*cache, "cache", Cache::flushed);
  if (const auto* ceilings = node.find("ceilings")) m.ceilings = as_flag(*ceilings, "ceilings");
  if (const auto* counters = node.find("counters")) m.counters = as_flag(*counters, "counters");
  if (const auto* expected = node.find("expected"))
    for (const auto& status : values_of(*expected, "a status"))
      m.expected.push_back(status_of(status));
  return m;
}

std::string artifact_of(const YamlNode& node) {
  const auto text = as_text(node, "<paper>/<artifact>");
  const auto slash = text.find('/');
  const bool clean = text.find_first_not_of(
                         "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                         "0123456789_-/") == std::string::npos;
  if (!clean || slash == 0 || slash + 1 >= text.size() || slash != text.rfind('/'))
    throw ParseError(node.at, fmt::format("'{}'", text), "<paper>/<artifact>");
  return text;
}

void check_variants(const Spec& spec) {
  for (const auto& variant : spec.variants) {
    const auto& words = elementwise_variants();
    const auto word = text(variant.value);
    if (word.find("->") == std::string::npos &&
        std::find(words.begin(), words.end(), word) == words.end())
      refuse_unknown(variant.at, "variant", word, words);
  }
}

nlohmann::json figure_of(const YamlNode& node) {
  if (!node.is_map()) throw ParseError(node.at, "no map", "figure as a map");
  as_text(node.need("kind"), "the kind of a figure");
  return to_json(node);
}

Spec spec_of(const YamlNode& tree) {
  check_map(tree, "a spec", tree.find("of") == nullptr ? spec_keys() : kViewKeys);
  Spec spec;
  spec.artifact = artifact_of(tree.need("artifact"));
  spec.title = as_text(tree.need("title"), "a title");
  if (const auto* of = tree.find("of")) {
    spec.of = artifact_of(*of);
    spec.figure = figure_of(tree.need("figure"));
    return spec;
  }
  spec.operations = checked_values("operation", tree.need("operation"));
  if (const auto* variant = tree.find("variant")) spec.variants = values_of(*variant, "a variant");
  check_variants(spec);
  const auto& axes = tree.need("axes");
  spec.axes = axes_of(axes);
  if (const auto* zip = tree.find("zip")) spec.zips = zips_of(*zip, spec.axes);
  const auto names_data = [](const Choices& c) { return c.count("dataset") != 0; };
  if (!names_data(spec.axes) && std::none_of(spec.zips.begin(), spec.zips.end(), names_data))
    throw ParseError(axes.at, "no dataset", "the key 'dataset'");
  if (const auto* exclude = tree.find("exclude"))
    for (const auto& entry : as_list(*exclude, "exclude").items)
      spec.exclusions.push_back(exclusion_of(entry));
  for (const auto& entry : as_list(tree.need("methods"), "methods").items)
    spec.methods.push_back(method_of(entry));
  if (const auto* measure = tree.find("measure")) spec.measure = measure_of(*measure);
  if (const auto* figure = tree.find("figure")) spec.figure = figure_of(*figure);
  return spec;
}

void check_overlay(const YamlNode::Key& profile, const YamlNode& content) {
  const auto& names = profile_names();
  if (std::find(names.begin(), names.end(), profile.name) == names.end())
    refuse_unknown(profile.at, "profile", profile.name, names);
  if (content.kind != YamlNode::Kind::null) check_map(content, "a profile", kOverlayKeys);
}

}  // namespace

const std::vector<std::string>& profile_names() {
  static const std::vector<std::string> names = {"quick", "device", "full"};
  return names;
}

Spec parse_spec(std::string_view text, const std::string& name, const std::string& profile) {
  const auto tree = read_spec_tree(text, name);
  auto spec = spec_of(tree.merged);
  std::vector<std::string> profiles;
  for (const auto& [key, content] : tree.overlays) {
    check_overlay(key, content);
    profiles.push_back(key.name);
    auto merged = tree.merged;
    if (content.is_map()) overlay(merged, content);
    auto overlaid = spec_of(merged);
    if (key.name == profile) spec = std::move(overlaid);
  }
  if (!profile.empty() && std::find(profiles.begin(), profiles.end(), profile) == profiles.end())
    throw ParseError({name, 0, 0}, fmt::format("no profile '{}'", profile),
                     profiles.empty() ? "none: the spec has no profiles"
                                      : boost::algorithm::join(profiles, " or "));
  spec.path = name;
  spec.sha256 = tree.sha256;
  spec.profiles = std::move(profiles);
  return spec;
}

Spec load_spec(const std::string& path, const std::string& profile) {
  return parse_spec(read_small_file(path), path, profile);
}

bool is_fragment(const std::string& path) {
  const auto tree = parse_yaml(read_small_file(path), path);
  return !tree.is_map() || tree.find("artifact") == nullptr;
}

}  // namespace retensor::driver
