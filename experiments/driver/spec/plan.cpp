// Expansion of a spec. Everything a user can get wrong is checked before the first case is made.
#include "experiments/driver/spec/plan.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <set>

#include "common/core/message.hpp"
#include "common/core/text.hpp"
#include "common/run/all_modes.hpp"
#include "experiments/driver/data/bytes.hpp"
#include "experiments/driver/spec/axes.hpp"
#include "experiments/driver/spec/foreign.hpp"
#include "experiments/driver/spec/methods.hpp"

namespace retensor::driver {

namespace {

using nlohmann::json;
using Setting = std::map<std::string, ParamValue>;

constexpr double kMaxCombinations = 100'000;

void check_method(const std::string& id, const FilePosition& at, const Registry& methods) {
  std::vector<std::string> ids = {std::string(kAutoMethod)};
  for (const auto& method : methods.methods()) ids.emplace_back(method->id());
  if (std::ranges::find(ids, id) == ids.end()) refuse_unknown(at, "method", id, ids);
}

const Dataset& dataset_at(const Located& value, const DatasetRegistry& datasets) {
  const auto name = text(value.value);
  try {
    return datasets.with_facts(name);
  } catch (const ParseError&) {
    throw;  // of the tensor file that the name leads to
  } catch (const InputError&) {
    const auto names = datasets.names();
    if (meant(name, names).empty())
      throw ParseError(value.at, "unknown data set " + shown(name),
                       "a tensor file or a name that 'retensor list datasets' prints");
    refuse_unknown(value.at, "data set", name, names);
  }
}

/// All values of an axis, wherever the spec lists them.
std::vector<Located> all_values(const Spec& spec, const std::string& axis) {
  std::vector<Located> values;
  const auto add = [&](const Choices& choices) {
    if (const auto at = choices.find(axis); at != choices.end())
      values.insert(values.end(), at->second.begin(), at->second.end());
  };
  add(spec.axes);
  for (const auto& zip : spec.zips) add(zip);
  return values;
}

/// NAME@all stands for a stand-in and its variants.
void expand_variants(std::vector<Located>& values, const DatasetRegistry& datasets) {
  constexpr std::string_view kAll = "@all";
  std::vector<Located> expanded;
  for (const auto& value : values) {
    const auto name = text(value.value);
    if (!name.ends_with(kAll)) {
      expanded.push_back(value);
      continue;
    }
    const auto names = located(value.at, [&] {
      return datasets.with_variants(name.substr(0, name.size() - kAll.size()));
    });
    for (const auto& variant : names) expanded.push_back({variant, value.at});
  }
  values = std::move(expanded);
}

Spec with_variants(Spec spec, const DatasetRegistry& datasets) {
  const auto expand = [&](Choices& choices) {
    if (const auto at = choices.find("dataset"); at != choices.end())
      expand_variants(at->second, datasets);
  };
  expand(spec.axes);
  for (auto& exclusion : spec.exclusions) expand(exclusion.when);
  return spec;
}

void check_datasets_and_modes(const Spec& spec, const DatasetRegistry& datasets) {
  std::size_t highest_order = 0;
  for (const auto& value : all_values(spec, "dataset"))
    highest_order = std::max(highest_order, dataset_at(value, datasets).dims.size());
  for (const auto& value : all_values(spec, "mode")) {
    const auto* mode = std::get_if<std::int64_t>(&value.value);
    if (mode != nullptr && static_cast<std::size_t>(*mode) >= highest_order)
      throw ParseError(value.at, fmt::format("mode {}", *mode),
                       fmt::format("0 to {}: no tensor here has more modes", highest_order - 1));
  }
}

void check_methods(const Spec& spec, const Registry& methods) {
  for (const auto& entry : spec.methods) {
    check_method(entry.id, entry.at, methods);
    const auto schema = method_of_spec(methods, entry.id).params();
    for (const auto& param : entry.params)
      for (const auto& value : param.second)
        located(value.at, [&] { return schema.resolve({{param.first, value.value}}); });
  }
}

/// Of a condition on a parameter: values that one of the methods may have.
void check_values(const std::string& param, const std::vector<Located>& values, const Spec& spec,
                  const Registry& methods) {
  for (const auto& value : values) {
    std::optional<InputError> refusal;
    for (const auto& entry : spec.methods) {
      const auto schema = method_of_spec(methods, entry.id).params();
      if (std::ranges::find(schema.specs(), param, &ParamSpec::name) == schema.specs().end())
        continue;
      try {
        located(value.at, [&] { return schema.resolve({{param, value.value}}); });
        refusal.reset();
        break;
      } catch (const InputError& e) {
        refusal = e;
      }
    }
    if (refusal) throw InputError(*refusal);
  }
}

void check_exclusions(const Spec& spec, const Registry& methods, const DatasetRegistry& datasets) {
  std::vector<std::string> params;
  for (const auto& entry : spec.methods) {
    const auto schema = method_of_spec(methods, entry.id).params();
    for (const auto& param : schema.specs()) params.push_back("params." + param.name);
  }
  for (const auto& exclusion : spec.exclusions)
    for (const auto& [name, values] : exclusion.when) {
      if (name.starts_with("params.") && std::ranges::find(params, name) == params.end())
        refuse_unknown(values.front().at, "parameter", name, params);
      if (name.starts_with("params.")) check_values(name.substr(7), values, spec, methods);
      for (const auto& value : values) {
        if (name == "dataset") dataset_at(value, datasets);
        if (name == "method") check_method(text(value.value), value.at, methods);
      }
    }
}

void check_einsum(const Spec& spec) {
  const bool has_einsum = std::ranges::any_of(spec.variants, [](const Located& v) {
    return text(v.value).find("->") != std::string::npos;
  });
  for (const auto& operation : spec.operations)
    if (text(operation.value) == "contraction" && !has_einsum)
      throw ParseError(operation.at, "contraction without an einsum",
                       "variant such as \"abk,kcd->abcd\"");
}

double combinations(const Spec& spec) {
  double product = static_cast<double>(spec.operations.size()) *
                   static_cast<double>(std::max<std::size_t>(spec.variants.size(), 1)) *
                   spec.measure.launches;
  for (const auto& [name, values] : spec.axes) product *= static_cast<double>(values.size());
  for (const auto& zip : spec.zips) product *= static_cast<double>(zip.begin()->second.size());
  double methods = 0;
  for (const auto& entry : spec.methods) {
    double params = 1;
    for (const auto& [name, values] : entry.params) params *= static_cast<double>(values.size());
    methods += params;
  }
  return product * methods;
}

void check_size(const Spec& spec) {
  // Every mode of every tensor at most, should the spec say `all`.
  const auto modes = all_values(spec, "mode");
  const bool all = modes.empty() || std::ranges::any_of(modes, [](const Located& v) {
                     return text(v.value) == "all";
                   });
  const double count = combinations(spec) * (all ? kMaxOrder : 1);
  if (count > kMaxCombinations)
    throw input_error("{}: found {:.3g} combinations, expected at most {}", spec.path, count,
                      kMaxCombinations);
}

/// Every setting extended by each step of a walk along lists of equal length; the walk varies
/// fastest.
void extend(std::vector<Setting>& settings, const Choices& lists) {
  std::vector<Setting> result;
  const auto length = lists.begin()->second.size();
  for (const auto& setting : settings)
    for (std::size_t k = 0; k < length; ++k) {
      result.push_back(setting);
      for (const auto& [name, values] : lists) result.back()[name] = values[k].value;
    }
  settings = std::move(result);
}

/// Every combination of the values; the last axis varies fastest.
std::vector<Setting> crossed(const Choices& axes) {
  std::vector<Setting> settings(1);
  for (const auto& axis : axes) extend(settings, {axis});
  return settings;
}

/// The spec's variants that the operation takes, else the operation's own default.
std::vector<std::string> variants_of(const Spec& spec, Operation op) {
  std::vector<std::string> variants;
  for (const auto& variant : spec.variants)
    if (const auto word = text(variant.value); takes_variant(op, word)) variants.push_back(word);
  if (variants.empty()) variants.push_back(standard_variant(op));
  return variants;
}

bool excludes(const Exclusion& exclusion, const Case& c) {
  return std::ranges::all_of(exclusion.when, [&c](const auto& condition) {
    const auto value = axis_value(c, condition.first);
    return value && std::ranges::any_of(condition.second, [&](const Located& v) {
             return same_value(v.value, *value);
           });
  });
}

class Planner {
 public:
  Planner(const Spec& spec, const Registry& methods, const DatasetRegistry& datasets)
      : spec_(spec), methods_(methods), datasets_(datasets) {}

  Plan run() {
    plan_.artifact = spec_.artifact;
    plan_.title = spec_.title;
    plan_.spec_path = spec_.path;
    plan_.spec_sha256 = spec_.sha256;
    plan_.measure = spec_.measure;
    if (!spec_.of.empty()) return std::move(plan_);  // draws rows of another, measures nothing
    auto settings = crossed(spec_.axes);
    for (const auto& zip : spec_.zips) extend(settings, zip);
    for (const auto& dataset : dataset_order(settings))
      for (const auto& operation : spec_.operations)
        for (const auto& setting : settings)
          if (text(setting.at("dataset")) == dataset)
            add_operation(operation_from_name(text(operation.value)), setting);
    for (const auto& exclusion : spec_.exclusions)
      if (!used_.contains(&exclusion))
        plan_.notes.push_back(fmt::format("{}:{}:{}: no case matches this exclusion ({})",
                                          exclusion.at.file, exclusion.at.line, exclusion.at.column,
                                          exclusion.reason));
    return std::move(plan_);
  }

 private:
  static std::vector<std::string> dataset_order(const std::vector<Setting>& settings) {
    std::vector<std::string> order;
    std::set<std::string> seen;
    for (const auto& setting : settings)
      if (const auto name = text(setting.at("dataset")); seen.insert(name).second)
        order.push_back(name);
    return order;
  }

  void add_operation(Operation op, const Setting& setting) {
    Case c;
    c.artifact = spec_.artifact;
    c.order = spec_.measure.timing.order;
    c.interleaved = spec_.measure.interleaved;
    c.cache = spec_.measure.timing.cache;
    c.problem.operation = op;
    c.has_mode = has_mode(op);
    for (const auto& [name, value] : setting)
      if (name != "mode") set_axis(c, name, value);
    if (!has_rank(op)) c.problem.rank = ProblemSpec{}.rank;
    if (op != Operation::ttm_chain)
      c.problem.rank2 = 0;
    else if (c.problem.rank2 == 0)
      c.problem.rank2 = c.problem.rank;
    for (const auto& variant : variants_of(spec_, op)) {
      c.problem.variant = variant;
      for (const int mode : modes_of(c, setting)) {
        c.problem.mode = mode;
        add_methods(c);
      }
    }
  }

  std::vector<int> modes_of(const Case& c, const Setting& setting) const {
    if (!c.has_mode) return {0};
    const auto at = setting.find("mode");
    if (at != setting.end())
      if (const auto* mode = std::get_if<std::int64_t>(&at->second))
        return {static_cast<int>(*mode)};
    std::vector<int> modes(datasets_.find(c.dataset).dims.size());
    std::iota(modes.begin(), modes.end(), 0);
    return modes;
  }

  void add_methods(const Case& problem) {
    for (const auto& entry : spec_.methods)
      for (const auto& params : crossed(entry.params)) {
        auto c = problem;
        c.method = entry.id;
        if (entry.foreign) {
          c.foreign = std::make_shared<const ForeignEntry>(*entry.foreign);
          if (!entry.foreign->own) c.foreign_sha256 = sha256_of(entry);
        }
        const auto resolved = located(
            entry.at, [&] { return method_of_spec(methods_, entry.id).params().resolve(params); });
        c.params.insert(resolved.all().begin(), resolved.all().end());
        for (c.launch = 0; c.launch < spec_.measure.launches; ++c.launch) add(c);
      }
  }

  const std::string& sha256_of(const MethodEntry& entry) {
    auto& sha256 = foreign_[&entry];
    if (sha256.empty())
      sha256 = located(entry.at, [&] { return foreign_code(*entry.foreign).sha256; });
    return sha256;
  }

  void add(const Case& c) {
    if (!seen_.insert(driver::to_json(c, json()).dump()).second) return;
    const auto limit = spec_.measure.memory;
    if (auto reason = skip_reason(c); !reason.empty())
      plan_.skips.push_back({c, std::move(reason)});
    else if (const auto needed = limit == 0 ? 0 : memory_of(c); needed > limit)
      plan_.skips.push_back({c,
                             fmt::format("needs about {} of memory, the spec allows {}",
                                         bytes_text(needed), bytes_text(limit)),
                             needed});
    else
      plan_.cases.push_back(c);
  }

  std::string skip_reason(const Case& c) {
    const Exclusion* first = nullptr;
    for (const auto& exclusion : spec_.exclusions)
      if (excludes(exclusion, c)) {
        used_.insert(&exclusion);
        if (first == nullptr) first = &exclusion;
      }
    if (first != nullptr) return first->reason;
    const auto& dataset = datasets_.find(c.dataset);
    if (dataset.kind == "private") return "private data set: published facts only";
    try {
      check_problem(c.problem, dataset.dims, dataset.dims);
    } catch (const InputError& e) {
      return e.what();
    }
    return {};
  }

  Count memory_of(const Case& c) const {
    return memory_estimate(c, datasets_, method_of_spec(methods_, c.method));
  }

  const Spec& spec_;
  const Registry& methods_;
  const DatasetRegistry& datasets_;
  Plan plan_;
  std::set<std::string> seen_;
  std::set<const Exclusion*> used_;                    ///< that match a case
  std::map<const MethodEntry*, std::string> foreign_;  ///< checksum of the code
};

}  // namespace

Plan make_plan(const Spec& given, const Registry& methods, const DatasetRegistry& datasets) {
  const auto spec = with_variants(given, datasets);
  check_size(spec);
  check_datasets_and_modes(spec, datasets);
  check_methods(spec, methods);
  check_exclusions(spec, methods, datasets);
  check_einsum(spec);
  check_figure(spec, methods);
  auto plan = Planner(spec, methods, datasets).run();
  check_comparison(spec, methods, plan.cases);
  return plan;
}

namespace {

/// Nonzeros up to which a tensor is read: some methods count its blocks for every case.
constexpr Count kSmall = 1'000'000;

std::shared_ptr<const Coo> known_part(const Dataset& d, const DatasetRegistry& datasets,
                                      const std::string& cache_dir) {
  if (d.nnz <= kSmall && datasets.obstacle(d, cache_dir).empty() &&
      std::filesystem::exists(datasets.cache_file(d, cache_dir)))
    return datasets.obtain(d, cache_dir);
  return std::make_shared<const Coo>(d.dims, DType::f32);
}

/// Empty where the method takes the case, or fails over the question: then `run` says how.
std::string declined(const Case& c, const Method& method, std::shared_ptr<const Coo> tensor,
                     Count nonzeros) {
  try {
    const auto problem = Problem::outline(c.problem, std::move(tensor), nonzeros);
    return supports(method, problem, method.params().resolve(c.params)).reason;
  } catch (const Error&) {
    return "";
  }
}

}  // namespace

std::size_t skip_declined(Plan& plan, const Registry& methods, const DatasetRegistry& datasets,
                          const std::string& cache_dir) {
  std::map<std::string, std::shared_ptr<const Coo>> tensors;
  std::vector<Case> kept;
  for (auto& c : plan.cases) {
    auto& tensor = tensors[c.dataset];
    const auto& dataset = datasets.find(c.dataset);
    if (!tensor) tensor = known_part(dataset, datasets, cache_dir);
    auto reason = declined(c, method_of_spec(methods, c.method), tensor, dataset.nnz);
    if (reason.empty())
      kept.push_back(std::move(c));
    else
      plan.skips.push_back({std::move(c), std::move(reason)});
  }
  const auto count = plan.cases.size() - kept.size();
  plan.cases = std::move(kept);
  return count;
}

namespace {

/// A spec is data, whoever wrote it, until its reader says otherwise.
void refuse_foreign(const Spec& spec) {
  for (const auto& entry : spec.methods)
    if (entry.foreign && !entry.foreign->own)
      throw ParseError(entry.at, fmt::format("external code, {}", entry.foreign->path),
                       "--allow-foreign on the command line, which lets it run with your rights");
}

}  // namespace

Plan plan_to_measure(const std::string& spec_path, const std::string& profile,
                     const DatasetRegistry& datasets, bool allow_foreign) {
  auto spec = load_spec(spec_path, profile);
  if (!spec.of.empty())
    throw input_error("{}: this spec measures nothing: it draws the rows of {}; run that spec",
                      spec.path, spec.of);
  const auto methods = methods_for(spec);
  if (!allow_foreign) refuse_foreign(spec);
  return make_plan(spec, methods, datasets);
}

}  // namespace retensor::driver
