#include "experiments/driver/spec/methods.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <filesystem>
#include <map>

#include "common/core/error.hpp"

namespace retensor::driver {
namespace fs = std::filesystem;

namespace {

class AutoMethod : public Method {
 public:
  std::string_view id() const override { return kAutoMethod; }
  std::string_view summary() const override { return "the method that the planner expects to win"; }
  Backend backend() const override { return Backend::cpu; }
  ParamSchema params() const override {
    return {
        param("calls", std::int64_t{100}, "runs that follow one preparation").range(1, 1e12),
        param("error", 0.0,
              "relative error that is allowed; 0: that of single precision, no rounded operand")
            .range(0, 1),
        param("trial", true,
              "whether a few runs settle what the forecasts leave open, where they are expected "
              "to pay"),
        param("machine", "any", "where it may run").words({"any", "cpu", "device"})};
  }
  /// As the most frugal methods do: which one runs is not known yet.
  double bytes_per_nonzero() const override { return 40; }
  Support supports(const Problem&, const Params&) const override { return Support::yes(); }
  std::unique_ptr<Prepared> prepare(const Problem&, const Params&) const override {
    throw LogicError("`auto` stands for a method and is none");
  }
};

}  // namespace

const Method& method_of_spec(const Registry& methods, std::string_view id) {
  static const AutoMethod automatic;
  return id == kAutoMethod ? automatic : methods.find(id);
}

std::string name_of_auto(const std::map<std::string, ParamValue>& params) {
  std::string name(kAutoMethod);
  const auto schema = AutoMethod().params();
  for (const auto& spec : schema.specs())
    if (const auto& value = params.at(spec.name); spec.name == "calls" || value != spec.standard)
      name += fmt::format(" {}={}", spec.name, text(value));
  return name;
}

namespace {

constexpr const char* kFolder = "methods";

/// Of the files methods/*.yaml, by id.
std::map<std::string, ForeignEntry> users_methods() {
  std::vector<fs::path> files;
  std::error_code none;
  for (const auto& file : fs::directory_iterator(kFolder, none))
    if (file.path().extension() == ".yaml") files.push_back(file.path());
  std::ranges::sort(files);
  std::map<std::string, ForeignEntry> found;
  for (const auto& file : files) {
    const auto tree = load_yaml(file.string(), foreign_file_shape());
    for (const auto& node : tree.items_of("methods")) {
      const auto entry = foreign_entry(node);
      const auto id = text_or(node, "id", default_foreign_id(entry->path));
      if (!found.emplace(id, *entry).second)
        throw ParseError(node.at, fmt::format("a second method '{}'", id), "another id");
    }
  }
  return found;
}

/// A row of such a module would be taken for one of this program's code.
void refuse_taken_module(const MethodEntry& entry, const Registry& registry) {
  const auto module = entry.id.substr(0, entry.id.find('.') + 1);
  for (const auto& method : registry.methods())
    if (method->id().starts_with(module))
      throw ParseError(entry.at, shown(entry.id),
                       fmt::format("an id that begins otherwise: '{}' is a module of this program",
                                   module.substr(0, module.size() - 1)));
}

bool has(const Registry& registry, const std::string& id) {
  const auto& all = registry.methods();
  return std::ranges::any_of(all, [&](const auto& m) { return m->id() == id; });
}

/// Adds the method of an entry with the parameters of all entries that have its id.
void add(const MethodEntry& entry, const Spec& spec, const Registry& own, Registry& registry) {
  refuse_taken_module(entry, own);
  std::map<std::string, ParamValue> params;
  for (const auto& each : spec.methods)
    if (each.id == entry.id)
      for (const auto& [name, values] : each.params) params.emplace(name, values.front().value);
  registry.add(foreign_method(entry.id, params, entry.foreign->precision));
}

}  // namespace

Registry methods_for(Spec& spec) {
  const auto own = all_methods();
  auto registry = all_methods();
  for (auto& entry : spec.methods)
    if (!entry.foreign) entry.foreign = distributed_entry(entry.id);
  const auto named = [&](const MethodEntry& entry) { return entry.foreign || has(own, entry.id); };
  std::map<std::string, ForeignEntry> users;
  if (!std::ranges::all_of(spec.methods, named)) users = users_methods();
  for (auto& entry : spec.methods) {
    if (const auto found = users.find(entry.id); !named(entry) && found != users.end())
      entry.foreign = found->second;
    if (!entry.foreign) continue;
    if (!has(registry, entry.id))
      add(entry, spec, own, registry);
    else if (!entry.foreign->own)  // two programs, whose rows could not be told apart
      throw ParseError(entry.at, fmt::format("a second method '{}'", entry.id), "another id");
  }
  return registry;
}

}  // namespace retensor::driver
