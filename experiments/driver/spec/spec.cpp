// From the files behind a spec to the checked form. Includes are read depth first, so that the
// including file has the last word. The shape of a spec (spec_shape.cpp) admits each value by
// itself; here stands what several say together.
#include "experiments/driver/spec/spec.hpp"
#include "experiments/driver/data/bytes.hpp"

#include <algorithm>
#include <filesystem>
#include <set>

#include <fmt/format.h>
#include <boost/algorithm/string/join.hpp>

#include "common/core/hash.hpp"
#include "common/core/text.hpp"
#include "experiments/driver/spec/axes.hpp"
#include "experiments/driver/spec/case.hpp"

namespace retensor::driver {
namespace fs = std::filesystem;
namespace {

constexpr int kMaxIncludeDepth = 8;
constexpr int kMaxFiles = 64;  ///< includes that include each other twice grow exponentially

/// The nearest directory above the spec that is named experiments, else the spec's own.
fs::path experiments_of(const fs::path& spec) {
  const auto own = fs::weakly_canonical(fs::absolute(spec)).parent_path();
  for (auto dir = own; dir != dir.root_path(); dir = dir.parent_path())
    if (dir.filename() == "experiments") return dir;
  return own;
}

class Includer {
 public:
  explicit Includer(const std::string& root_spec) : root_spec_(root_spec) {}

  YamlNode read(std::string_view text, const std::string& name, int depth) {
    hash_.update(text.data(), text.size());
    auto tree = parse_yaml(text, name);
    spec_part_shape()->check(tree);
    const auto include = take(tree, "include");
    YamlNode merged;
    merged.kind = YamlNode::Kind::map;
    merged.at = tree.at;
    if (!include.text.empty()) overlay(merged, included(include, name, depth));
    for (const auto& item : include.items) overlay(merged, included(item, name, depth));
    overlay(merged, std::move(tree));
    return merged;
  }

  std::string hash() { return hash_.hex(); }

 private:
  YamlNode included(const YamlNode& entry, const std::string& from, int depth) {
    if (depth == kMaxIncludeDepth || ++files_ > kMaxFiles)
      throw ParseError(entry.at, "more includes",
                       fmt::format("at most {} files, {} deep", kMaxFiles, kMaxIncludeDepth));
    const auto path = (fs::path(from).parent_path() / entry.text).lexically_normal().string();
    const auto experiments = experiments_of(root_spec_);
    if (!lies_below(path, experiments.string()) && !lies_below(path, fs::current_path().string()))
      throw ParseError(entry.at, shown(entry.text),
                       fmt::format("a file below {}/ or the working directory",
                                   experiments.filename().string()));
    std::error_code error;
    if (!fs::is_regular_file(path, error))
      throw ParseError(entry.at, shown(entry.text),
                       fmt::format("a file that is there: {} is no such file", path));
    return located(entry.at, [&] { return read(read_small_file(path), path, depth + 1); });
  }

  std::string root_spec_;
  Sha256 hash_;
  int files_ = 0;
};

/// A scalar is a list of one.
std::vector<Located> values_of(const YamlNode& node) {
  const auto value = [](const YamlNode& item) { return Located{scalar_value(item), item.at}; };
  return node.is_list() ? transformed(node.items, value) : std::vector{value(node)};
}

/// The values under each key of a map.
Choices choices_of(const YamlNode& node) {
  Choices choices;
  for (const auto& values : node.items) choices[values.key] = values_of(values);
  return choices;
}

std::vector<Choices> zips_of(const std::vector<YamlNode>& groups, const Choices& axes) {
  std::vector<Choices> zips;
  std::set<std::string> taken;
  for (const auto& [name, values] : axes) taken.insert(name);
  for (const auto& group : groups) {
    if (group.items.empty()) throw ParseError(group.at, "an empty group", "axes with lists");
    zips.push_back(choices_of(group));
    const auto length = zips.back()[group.items.front().key].size();
    for (const auto& axis : group.items) {
      if (!taken.insert(axis.key).second)
        throw ParseError(axis.key_at, fmt::format("'{}' a second time", axis.key),
                         "an axis in one place: axes or one group of zip");
      if (const auto size = zips.back()[axis.key].size(); size != length)
        throw ParseError(axis.key_at, count_text(size, "value"),
                         fmt::format("{} as in the group's first list", length));
    }
  }
  return zips;
}

MethodEntry method_of(const YamlNode& node) {
  const auto* id = node.find("id");
  const auto* params = node.find("params");
  auto foreign = foreign_entry(node);
  return {id != nullptr ? id->text : default_foreign_id(foreign->path),
          id != nullptr ? id->at : node.at, params == nullptr ? Choices() : choices_of(*params),
          std::move(foreign)};
}

/// A number with one of the units: "60s".
std::uint64_t quantity(const std::string& text, const std::map<std::string, std::uint64_t>& units) {
  std::size_t digits = 0;
  const auto number = std::stoull(text, &digits);
  return number * units.at(text.substr(digits));
}

std::chrono::milliseconds time_of(const YamlNode& node) {
  return std::chrono::milliseconds(
      quantity(node.text, {{"ms", 1}, {"s", 1000}, {"m", 60'000}, {"h", 3'600'000}}));
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
  integer("batch", m.batch);
  if (const auto* timeout = node.find("timeout")) m.timeout = time_of(*timeout);
  if (const auto* precision = node.find("precision")) {
    m.precision = std::stod(precision->text) / 100;
    m.at_most = m.timeout / 2;
  }
  if (const auto* at_most = node.find("at_most")) {
    if (m.precision <= 0 || time_of(*at_most) >= m.timeout)
      throw ParseError(at_most->at, shown(at_most->text),
                       "`at_most` with a `precision` above 0%, and below the timeout");
    m.at_most = time_of(*at_most);
  }
  if (const auto* memory = node.find("memory")) m.memory = bytes_from(memory->text);
  if (const auto* order = node.find("order"))
    if (m.interleaved = order->text == kInterleaved; !m.interleaved)
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
  if (const auto* figure = tree.find("figure")) spec.figure = *figure;
  if (!spec.of.empty()) return spec;
  spec.operations = values_of(tree.need("operation"));
  if (const auto* variant = tree.find("variant")) spec.variants = values_of(*variant);
  const auto& axes = tree.need("axes");
  spec.axes = choices_of(axes);
  spec.zips = zips_of(tree.items_of("zip"), spec.axes);
  const auto names_data = [](const Choices& c) { return c.count("dataset") != 0; };
  if (!names_data(spec.axes) && std::ranges::none_of(spec.zips, names_data))
    throw ParseError(axes.at, "no dataset", "the key 'dataset'");
  for (const auto& entry : tree.items_of("exclude"))
    spec.exclusions.push_back(
        {choices_of(entry.need("when")), entry.need("reason").text, entry.at});
  for (const auto& entry : tree.items_of("methods")) spec.methods.push_back(method_of(entry));
  if (const auto* measure = tree.find("measure")) spec.measure = measure_of(*measure);
  return spec;
}

/// Those of a spec with any of its profiles: a profile may leave some out, but not what they use.
std::set<Operation> operations_of(const std::vector<Spec>& all) {
  std::set<Operation> operations;
  for (const auto& spec : all)
    for (const auto& operation : spec.operations)
      operations.insert(operation_from_name(text(operation.value)));
  return operations;
}

/// Refuses what the spec says of problems that none of the operations has. What a file says that
/// the spec includes may be for the operations of other specs.
void check_used(const Spec& spec, const std::string& file, const std::set<Operation>& operations) {
  const auto names = joined(
      transformed(operations, [](Operation operation) { return std::string(name(operation)); }),
      ", ");
  const auto expect = [&](const Located& value, const std::string& what, const auto& takes) {
    if (!operations.empty() && value.at.file == file && std::ranges::none_of(operations, takes))
      throw ParseError(value.at, what + " which does nothing with " + names,
                       "what one of the operations uses");
  };
  const auto check_axes = [&](const Choices& choices) {
    for (const auto& [axis, values] : choices)
      if (axis != "mode" || text(values.front().value) != "all")  // `all` may mean none
        expect(values.front(), fmt::format("a value of {},", axis),
               [&axis = axis](Operation operation) { return takes_axis(operation, axis); });
  };
  check_axes(spec.axes);
  for (const auto& zip : spec.zips) check_axes(zip);
  for (const auto& variant : spec.variants) {
    const auto word = text(variant.value);
    expect(variant, fmt::format("variant {},", shown(word)),
           [&](Operation operation) { return takes_variant(operation, word); });
  }
}

/// A key that does nothing beside the kind in the same map, wherever that stands in it. A map
/// without a kind is laid over another one (check_figure).
void check_figures(const YamlNode& tree) {
  const auto check = [](const YamlNode& part) {
    const auto* figure = part.find("figure");
    if (figure == nullptr || figure->find("kind") == nullptr) return;
    for (const auto& item : figure->items) check_key_of_kind(item, text_or(*figure, "kind"));
  };
  check(tree);
  for (const auto& profile : tree.items_of("profiles"))
    if (profile.is_map()) check(profile);
}

}  // namespace

Spec parse_spec(std::string_view text, const std::string& name, const std::string& profile) {
  Includer files(name);
  auto tree = files.read(text, name, 0);
  check_figures(parse_yaml(text, name));
  const auto overlays = take(tree, "profiles");
  auto spec = spec_of(tree);
  std::vector<std::string> profiles;
  std::vector<Spec> all = {spec};
  for (const auto& content : overlays.items) {
    profiles.push_back(content.key);
    auto merged = tree;
    if (content.is_map()) overlay(merged, content);
    auto overlaid = spec_of(merged);
    if (content.key == profile) spec = overlaid;
    all.push_back(std::move(overlaid));
  }
  const auto operations = operations_of(all);
  for (const auto& one : all) check_used(one, name, operations);
  if (!profile.empty() && std::ranges::find(profiles, profile) == profiles.end())
    throw ParseError({name, 0, 0}, fmt::format("no profile '{}'", profile),
                     profiles.empty() ? "none: the spec has no profiles"
                                      : boost::algorithm::join(profiles, " or "));
  spec.path = name;
  spec.sha256 = files.hash();
  spec.profiles = std::move(profiles);
  return spec;
}

Spec load_spec(const std::string& path, const std::string& profile) {
  if (path.ends_with(".jsonl"))
    throw input_error("{}: found a result file, expected a spec (YAML)", path);
  return parse_spec(read_small_file(path), path, profile);
}

Spec measuring_spec(const Spec& spec) {
  if (spec.of.empty()) return spec;
  std::error_code ignored;
  const auto folder = fs::path(spec.path).parent_path();
  for (const auto& file : fs::directory_iterator(folder.empty() ? "." : folder, ignored)) {
    if (file.path().extension() != ".yaml" || is_fragment(file.path().string())) continue;
    auto other = load_spec(file.path().string());
    if (other.artifact == spec.of && other.of.empty()) return other;
  }
  return spec;
}

bool is_fragment(const std::string& path) {
  const auto tree = parse_yaml(read_small_file(path), path);
  return !tree.is_map() || tree.find("artifact") == nullptr;
}

}  // namespace retensor::driver
