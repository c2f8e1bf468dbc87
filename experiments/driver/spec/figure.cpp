// Names are found as plots/retensor/figures/quantity.py finds them in the columns of rows: an
// alias, a member of the row, a member of its case, a parameter.
#include "experiments/driver/spec/plan.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "experiments/driver/spec/axes.hpp"
#include "experiments/driver/spec/methods.hpp"

namespace retensor::driver {
namespace {

enum class Holds { number, text };

/// Names that figures have for members of rows.
const std::map<std::string, std::string>& aliases() {
  static const std::map<std::string, std::string> names = {{"gflops", "rates.gflops"},
                                                           {"gbytes", "rates.gbytes"},
                                                           {"time", "stats.median"},
                                                           {"intensity", "work.intensity"},
                                                           {"prepare", "phases.prepare"}};
  return names;
}

void add(std::map<std::string, Holds>& fields, const std::string& group,
         const std::vector<std::string>& names, Holds holds = Holds::number) {
  for (const auto& name : names) fields[group + name] = holds;
}

/// Members of rows (experiments/schema) that do not depend on the method.
std::map<std::string, Holds> row_members() {
  std::map<std::string, Holds> all;
  add(all, "", {"status", "reason", "session", "finished", "backend", "device", "currency", "code"},
      Holds::text);
  add(all, "", {"clock_drift", "clock_flag", "stale"});
  add(all, "phases.", {"load", "oracle", "prepare", "preparations", "run", "fetch"});
  add(all, "stats.", {"count", "median", "q1", "q3", "mean", "min", "max", "ci_low", "ci_high"});
  add(all, "cpu_load.", {"average", "others", "own", "cores"});
  add(all, "noise.", {"spread", "drift"});
  add(all, "work.", {"flops", "bytes", "compulsory_bytes", "atomics", "intensity"});
  add(all, "rates.", {"gflops", "gbytes", "index_gbytes"});
  add(all, "check.",
      {"ok", "sampled", "entries", "error_over_bound", "rmse_full", "rmse_nonzero", "smape_full",
       "smape_nonzero", "relative_frobenius", "max_absolute"});
  add(all, "footprint.", {"format_bytes", "device_bytes", "peak_host_bytes", "worker_peak_bytes"});
  add(all, "facts.",
      {"fibers", "per_fiber", "slices", "largest_slice", "slice_gini", "tile8.tiles",
       "tile8.per_tile", "tile16.tiles", "tile16.per_tile", "factor_bytes", "cache_bytes",
       "factors_over_cache"});
  add(all, "profile.",
      {"launches", "seconds", "sm_percent", "l1_percent", "l2_percent", "dram_percent",
       "tensor_percent", "dram_read_bytes", "dram_write_bytes", "dram_bytes", "dram_over_model",
       "l2_bytes", "l2_atomic_sectors", "tensor_instructions"});
  add(all, "roofline.", {"gbytes", "ridge", "gflops", "share"});
  add(all, "seconds.", {"without_zero", "task_processing", "sweep"});
  add(all, "copy.", {"share", "compulsory_share"});
  return all;
}

/// Members of the case that only rows of these operations have.
const std::map<std::string, std::vector<std::string>>& members_of_operations() {
  static const std::map<std::string, std::vector<std::string>> members = {
      {"scalar", {"ts"}},      {"alpha", {"contraction"}}, {"beta", {"contraction"}},
      {"max_sweeps", {"cpd"}}, {"tolerance", {"cpd"}},     {"rank2", {"ttm_chain"}}};
  return members;
}

class Fields {
 public:
  Fields(const Spec& measuring, const Registry& methods) : fields_(row_members()) {
    add(fields_, "case.",
        {"operation", "variant", "dataset", "dtype", "values", "operands", "method", "order",
         "cache", "artifact", "data.kind", "data.sha256", "data.for", "data.variant"},
        Holds::text);
    add(fields_, "case.", {"mode", "rank", "seed", "launch", "data.nnz", "data.dims"});
    for (const auto& [name, operations] : members_of_operations())
      if (std::ranges::any_of(measuring.operations, [&, &of = operations](const Located& v) {
            return std::ranges::find(of, text(v.value)) != of.end();
          }))
        fields_["case." + name] = Holds::number;
    add_values("operation", measuring.operations);
    add_values("variant", measuring.variants);
    for (const auto& [axis, values] : measuring.axes) add_values(axis, values);
    for (const auto& zip : measuring.zips)
      for (const auto& [axis, values] : zip) add_values(axis, values);
    for (const auto& entry : measuring.methods) add_method(entry, methods);
  }

  /// The member of rows that a name means.
  std::string find(const YamlNode& node) const {
    const auto& name = node.text;
    if (const auto at = aliases().find(name); at != aliases().end()) return at->second;
    if (name.starts_with("executed.") || name.starts_with("phases.stages.")) return name;
    const auto of_case = "case." + name, param = "case.params." + name;
    const bool is_axis = values_.contains(of_case);
    if (fields_.contains(of_case) && fields_.contains(param) && !is_axis)
      throw ParseError(node.at, shown(name) + ", a member of the case and a parameter",
                       fmt::format("'{}' or 'params.{}'", of_case, name));
    for (const auto& candidate : {name, of_case, param})
      if (fields_.contains(candidate)) return candidate;
    refuse_unknown(node.at, "field", name, names());
  }

  /// The member under a key of the figure, `standard` where the key is not there.
  std::string under(const YamlNode& figure, const char* key, const std::string& standard) const {
    const auto* node = figure.find(key);
    return node == nullptr || node->kind == YamlNode::Kind::null ? standard : find(*node);
  }

  bool holds_text(const std::string& field) const {
    const auto at = fields_.find(field);
    return at != fields_.end() && at->second == Holds::text;
  }

  /// Refuses a value that no row of the spec has in this field, as far as the spec says.
  void check_value(const std::string& field, const YamlNode& node) const {
    const auto known = values_.find(field);
    if (known == values_.end()) return;
    const auto given = scalar_value(node);
    std::vector<std::string> words;
    for (const auto& value : known->second) {
      if (same_value(value, given) || text(value) == node.text) return;
      words.push_back(text(value));
    }
    refuse_unknown(node.at, "value of " + field.substr(field.rfind('.') + 1), node.text, words);
  }

 private:
  void add_values(const std::string& axis, const std::vector<Located>& values) {
    const auto all = std::ranges::any_of(values, [](const Located& v) {
      return text(v.value) == "all" || text(v.value).ends_with("@all");
    });
    if (all) return;  // only the data sets tell what it stands for
    for (const auto& value : values) values_["case." + axis].push_back(value.value);
  }

  void add_method(const MethodEntry& entry, const Registry& methods) {
    values_["case.method"].emplace_back(entry.id);
    const auto schema = method_of_spec(methods, entry.id).params();
    for (const auto& param : schema.specs()) {
      const auto field = "case.params." + param.name;
      const bool is_text = std::holds_alternative<std::string>(param.standard);
      fields_[field] = is_text ? Holds::text : Holds::number;
      const auto given = entry.params.find(param.name);
      if (given == entry.params.end()) {
        values_[field].push_back(param.standard);
        continue;
      }
      for (const auto& value : given->second) values_[field].push_back(value.value);
    }
  }

  /// All names as a spec writes them.
  std::vector<std::string> names() const {
    auto all = names_of(aliases());
    for (const auto& [field, holds] : fields_)
      all.push_back(field.starts_with("case.") ? field.substr(5) : field);
    for (const auto& [field, holds] : fields_)
      if (field.starts_with("case.params.")) all.push_back(field.substr(12));
    return all;
  }

  std::map<std::string, Holds> fields_;
  std::map<std::string, std::vector<ParamValue>> values_;  ///< that the spec gives, by field
};

bool compares_cases(const std::string& kind) {
  return kind == "speedups" || kind == "performance-profile";
}

/// A name without what follows it where it means imported rows of a method: "parti.cuda
/// (original)".
YamlNode own_method(const YamlNode& figure, YamlNode name) {
  static const std::string kOriginal = " (original)";
  if (figure.find("originals") != nullptr && name.text.ends_with(kOriginal))
    name.text.resize(name.text.size() - kOriginal.size());
  return name;
}

/// The key of a map's item as a node of its own.
YamlNode key_of(const YamlNode& item) {
  YamlNode key = item;
  key.text = item.key;
  key.at = item.key_at;
  return key;
}

/// What the others are compared with.
const YamlNode& base_of(const YamlNode& figure) {
  const auto* turned = figure.find("of");
  return turned != nullptr ? *turned : figure.need("to");
}

/// What `to` or `of` names must tell methods, parameters or machines apart, or the series of the
/// figure.
void check_base(const YamlNode& figure, const Fields& fields) {
  const auto hue = fields.under(figure, "hue", "case.method");
  const auto& to = base_of(figure);
  if (figure.find("of") != nullptr && figure.find("to") != nullptr)
    throw ParseError(to.at, "of beside to", "one of them");
  if (!to.is_map()) {
    YamlNode first = own_method(figure, to);  // of a series' name: "flycoo.cpu, order=row"
    first.text = first.text.substr(0, first.text.find(", "));
    return fields.check_value(hue, first);
  }
  for (const auto& value : to.items) {
    const auto field = fields.find(key_of(value));
    if (field != hue && field != "case.method" && field != "device" &&
        !field.starts_with("case.params."))
      throw ParseError(value.key_at, shown(value.key) + ", in which what is compared agrees",
                       "method, a parameter, device or the field of hue");
    fields.check_value(field, own_method(figure, value));
  }
}

/// The legend has names for values of hue that the spec gives.
void check_names(const YamlNode& figure, const Fields& fields) {
  const auto* names = figure.find("names");
  if (names == nullptr) return;
  const auto hue = fields.under(figure, "hue", "case.method");
  for (const auto& word : names->items) fields.check_value(hue, key_of(word));
}

void check_ratios(const YamlNode& figure, const std::string& kind, const Fields& fields) {
  if (kind == "speedups") check_base(figure, fields);
  if (fields.under(figure, "x", "case.dataset") != "case.dataset")
    throw ParseError(
        figure.need("x").at, shown(figure.need("x").text) + " as x",
        fmt::format("dataset, or no x: figures of kind {} always have data sets there; "
                    "'facet' divides them by another field",
                    kind));
  if (fields.under(figure, "y", "stats.median").starts_with("rates."))
    throw ParseError(figure.need("y").at, shown(figure.need("y").text),
                     "a time or a size: ratios are of what is better when it is less");
}

/// Keys of a profile that are laid over a figure with another kind. One that stands before `kind`
/// or in another file may belong to a figure over which this one is laid; `parse_spec` has looked
/// at the keys beside a kind.
void check_keys(const YamlNode& figure, const std::string& kind) {
  const auto& from = figure.need("kind").at;
  for (const auto& item : figure.items)
    if (item.key_at.file == from.file &&
        std::tie(item.key_at.line, item.key_at.column) > std::tie(from.line, from.column))
      check_key_of_kind(item, kind);
}

constexpr std::string_view kParams = "case.params.";

/// How many parameters have several values among the cases; none is a value too.
std::size_t choices(const std::vector<Case>& cases) {
  std::map<std::string, std::map<std::string, std::size_t>> values;
  for (const auto& c : cases)
    for (const auto& [name, value] : c.params) ++values[name][text(value)];
  return static_cast<std::size_t>(std::ranges::count_if(values, [&](const auto& param) {
    return param.second.size() > 1 || param.second.begin()->second < cases.size();
  }));
}

/// Method and parameters that `to` or `of` names, by field. None where only rows tell what it
/// means: a machine, imported rows, the name of a series, values of a hue.
std::map<std::string, std::string> named_base(const YamlNode& figure, const Fields& fields,
                                              const std::vector<Case>& cases) {
  constexpr std::size_t kAblation = 3;  // choices from which a method's name may be a series'
  const auto& to = base_of(figure);
  if (figure.find("originals") != nullptr || figure.find("hue") != nullptr) return {};
  if (!to.is_map()) {
    if (to.text.find(", ") != to.text.npos || choices(cases) >= kAblation) return {};
    return {{"case.method", to.text}};
  }
  std::map<std::string, std::string> named;
  for (const auto& value : to.items) named[fields.find(key_of(value))] = value.text;
  return named.contains("device") ? std::map<std::string, std::string>() : named;
}

/// Which cases a figure of speedups compares with which, as
/// plots/retensor/figures/speedups.py does with their rows.
class Comparison {
 public:
  explicit Comparison(std::map<std::string, std::string> named) : named_(std::move(named)) {}

  void add(const Case& c) {
    auto& [bases, others] = problems_[problem_of(c)];
    (is_base(c) ? bases : others).push_back(&c);
  }

  /// The first two bases of which a case could take either, or else one that is compared with and
  /// one that is not; null without such a pair.
  std::pair<const Case*, const Case*> ambiguous() const {
    std::map<std::string, const Case*> used, all;
    for (const auto& [problem, parts] : problems_) {
      for (const auto* base : parts.first) all.emplace(series_of(*base), base);
      for (const auto* other : parts.second) {
        std::map<std::string, const Case*> found;
        for (const auto* base : parts.first)
          if (agree(*other, *base)) found.emplace(series_of(*base), base);
        if (found.size() > 1) return {found.begin()->second, std::next(found.begin())->second};
        used.merge(found);
      }
    }
    for (const auto& [series, base] : all)
      if (!used.empty() && !used.contains(series)) return {used.begin()->second, base};
    return {};
  }

 private:
  using Cases = std::vector<const Case*>;

  bool is_base(const Case& c) const {
    return std::ranges::all_of(named_, [&](const auto& field) {
      const auto& [name, value] = field;
      if (!name.starts_with(kParams)) return c.method == value;
      const auto param = c.params.find(name.substr(kParams.size()));
      return param != c.params.end() && text(param->second) == value;
    });
  }

  /// Whether the parameters that both have are the same, but for those that are named.
  bool agree(const Case& a, const Case& b) const {
    return std::ranges::all_of(a.params, [&](const auto& param) {
      const auto other = b.params.find(param.first);
      return other == b.params.end() || text(other->second) == text(param.second) ||
             named_.contains(std::string(kParams) + param.first);
    });
  }

  static std::string series_of(const Case& c) {
    auto series = c.method;
    for (const auto& [name, value] : c.params) series += fmt::format(" {}={}", name, text(value));
    return series;
  }

  static std::string problem_of(const Case& c) {
    auto rest = driver::to_json(c, nlohmann::json());
    for (const auto* member : {"method", "params", "launch", "foreign"}) rest.erase(member);
    return rest.dump();
  }

  std::map<std::string, std::string> named_;
  std::map<std::string, std::pair<Cases, Cases>> problems_;  ///< bases and others
};

/// "update: owner, order: row" of the parameters of `a` that are others in `b`.
std::string different_params(const Case& a, const Case& b) {
  std::vector<std::string> different;
  for (const auto& [name, value] : a.params)
    if (const auto other = b.params.find(name);
        other == b.params.end() || text(other->second) != text(value))
      different.push_back(fmt::format("{}: {}", name, text(value)));
  return fmt::format("{}", fmt::join(different, ", "));
}

}  // namespace

const std::map<std::string, std::vector<std::string>>& keys_of_kinds() {
  static const std::map<std::string, std::vector<std::string>> of_kinds = {
      {"to", {"speedups"}},        {"of", {"speedups"}},
      {"stack", {"stacked-bars"}}, {"share", {"stacked-bars"}},
      {"place", {"claims"}},       {"distance_from", {"curves"}},
      {"mark", {"roofline"}},      {"label", {"scatter", "roofline"}}};
  return of_kinds;
}

void check_key_of_kind(const YamlNode& item, const std::string& kind) {
  const auto at = keys_of_kinds().find(item.key);
  if (at != keys_of_kinds().end() && std::ranges::find(at->second, kind) == at->second.end())
    throw ParseError(item.key_at, fmt::format("{} in a figure of kind {}", item.key, kind),
                     fmt::format("it only in kind {}", fmt::join(at->second, " or ")));
}

void check_comparison(const Spec& spec, const Registry& methods, const std::vector<Case>& cases) {
  const auto& figure = spec.figure;
  if (!figure.is_map() || text_or(figure, "kind") != "speedups") return;
  Comparison comparison(named_base(figure, Fields(measuring_spec(spec), methods), cases));
  for (const auto& c : cases) comparison.add(c);
  const auto [one, another] = comparison.ambiguous();
  if (one == nullptr || one->method != another->method) return;
  const auto wanted = different_params(*one, *another);
  throw ParseError(base_of(figure).at,
                   fmt::format("{} with both {{{}}} and {{{}}}", one->method, wanted,
                               different_params(*another, *one)),
                   fmt::format("one of them, such as {{method: {}, {}}}", one->method, wanted));
}

void check_figure(const Spec& spec, const Registry& methods) {
  const auto& figure = spec.figure;
  if (!figure.is_map()) return;
  const Fields fields(measuring_spec(spec), methods);
  for (const auto* key : {"x", "facet", "hue", "label", "mark"}) fields.under(figure, key, "");
  const auto kind = text_or(figure, "kind");
  check_keys(figure, kind);
  const auto y = fields.under(figure, "y", "");
  if (kind != "table" && fields.holds_text(y))
    throw ParseError(figure.need("y").at, shown(figure.need("y").text), "a field with numbers");
  if (const auto* stack = figure.find("stack"); stack != nullptr && stack->text != "stages") {
    if (!stack->is_list()) fields.find(*stack);
    for (const auto& part : stack->items) fields.find(part);
  }
  if (kind == "claims") figure.need("place");
  check_names(figure, fields);
  if (compares_cases(kind)) check_ratios(figure, kind, fields);
}

}  // namespace retensor::driver
