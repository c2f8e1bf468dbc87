// From the merged tree to the checked form. The shape of a spec (spec_shape.hpp) admits each value
// by itself; here stands what several say together.
#include "experiments/driver/spec/spec.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <boost/algorithm/string/join.hpp>

#include "experiments/driver/spec/case.hpp"
#include "experiments/driver/spec/spec_files.hpp"
#include "experiments/driver/spec/spec_shape.hpp"
#include "experiments/driver/yaml/files.hpp"
#include "experiments/driver/yaml/yaml_tree.hpp"

namespace retensor::driver {
namespace {

using Choices = std::map<std::string, std::vector<Located>>;

/// A scalar is a list of one.
std::vector<Located> values_of(const YamlNode& node) {
  std::vector<Located> values;
  if (!node.is_list()) return {{scalar_value(node), node.at}};
  for (const auto& item : node.items) values.push_back({scalar_value(item), item.at});
  return values;
}

/// The values under each key of a map.
Choices choices_of(const YamlNode& node) {
  Choices choices;
  for (std::size_t k = 0; k < node.keys.size(); ++k)
    choices[node.keys[k].name] = values_of(node.items[k]);
  return choices;
}

std::vector<Choices> zips_of(const YamlNode& node, const Choices& axes) {
  std::vector<Choices> zips;
  std::set<std::string> taken;
  for (const auto& [name, values] : axes) taken.insert(name);
  for (const auto& group : node.items) {
    zips.push_back(choices_of(group));
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

MethodEntry method_of(const YamlNode& node) {
  const auto& id = node.need("id");
  const auto* params = node.find("params");
  return {id.text, id.at, params == nullptr ? Choices() : choices_of(*params)};
}

/// A number with one of the units: "60s", "8GiB".
std::uint64_t quantity(const std::string& text, const std::map<std::string, std::uint64_t>& units) {
  std::size_t digits = 0;
  const auto number = std::stoull(text, &digits);
  return number * units.at(text.substr(digits));
}

MeasureSpec measure_of(const YamlNode& node) {
  MeasureSpec m;
  const auto integer = [&node](const char* key, int& value) {
    if (const auto* found = node.find(key)) value = static_cast<int>(as_integer(*found));
  };
  integer("warmup", m.timing.warmup);
  integer("samples", m.timing.samples);
  integer("preparations", m.preparations);
  integer("launches", m.launches);
  if (const auto* timeout = node.find("timeout"))
    m.timeout = std::chrono::milliseconds(
        quantity(timeout->text, {{"ms", 1}, {"s", 1000}, {"m", 60'000}, {"h", 3'600'000}}));
  if (const auto* memory = node.find("memory"))
    m.memory = quantity(memory->text,
                        {{"", 1}, {"KiB", 1ULL << 10}, {"MiB", 1ULL << 20}, {"GiB", 1ULL << 30}});
  if (const auto* order = node.find("order"))
    m.timing.order = value_named(order->text, Order::blocked);
  if (const auto* cache = node.find("cache"))
    m.timing.cache = value_named(cache->text, Cache::flushed);
  m.ceilings = text_or(node, "ceilings") == "true";
  m.counters = text_or(node, "counters") == "true";
  if (const auto* expected = node.find("expected"))
    for (const auto& status : values_of(*expected)) m.expected.push_back(text(status.value));
  return m;
}

Spec spec_of(const YamlNode& tree) {
  whole_spec_shape()->check(tree);
  Spec spec;
  spec.artifact = tree.need("artifact").text;
  spec.title = tree.need("title").text;
  spec.of = text_or(tree, "of");
  if (const auto* figure = tree.find("figure")) spec.figure = to_json(*figure);
  if (!spec.of.empty()) return spec;
  spec.operations = values_of(tree.need("operation"));
  if (const auto* variant = tree.find("variant")) spec.variants = values_of(*variant);
  const auto& axes = tree.need("axes");
  spec.axes = choices_of(axes);
  if (const auto* zip = tree.find("zip")) spec.zips = zips_of(*zip, spec.axes);
  const auto names_data = [](const Choices& c) { return c.count("dataset") != 0; };
  if (!names_data(spec.axes) && std::none_of(spec.zips.begin(), spec.zips.end(), names_data))
    throw ParseError(axes.at, "no dataset", "the key 'dataset'");
  if (const auto* exclude = tree.find("exclude"))
    for (const auto& entry : exclude->items)
      spec.exclusions.push_back({choices_of(entry.need("when")), entry.need("reason").text});
  for (const auto& entry : tree.need("methods").items) spec.methods.push_back(method_of(entry));
  if (const auto* measure = tree.find("measure")) spec.measure = measure_of(*measure);
  return spec;
}

}  // namespace

Spec parse_spec(std::string_view text, const std::string& name, const std::string& profile) {
  const auto tree = read_spec_tree(text, name);
  auto spec = spec_of(tree.merged);
  std::vector<std::string> profiles;
  for (const auto& [key, content] : tree.overlays) {
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
