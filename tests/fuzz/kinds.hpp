// Formats of the project's files with words that may stand in them, and what the program does with
// such a file.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "common/method/registry.hpp"
#include "experiments/driver/data/locations.hpp"
#include "experiments/driver/judge/audit/audit.hpp"
#include "experiments/driver/spec/axes.hpp"
#include "experiments/driver/spec/plan.hpp"
#include "tests/fuzz/accepted.hpp"
#include "tests/fuzz/agreeing_findings.hpp"
#include "tests/fuzz/grammar.hpp"
#include "tests/fuzz/judged.hpp"

namespace retensor::fuzz {

inline Vocabulary vocabulary() {
  Vocabulary words = {
      {"",
       {"x",
        "a/b",
        "5s",
        "500ms",
        "1GiB",
        "-1",
        "1e309",
        ".nan",
        "~",
        "true",
        "0x10",
        "=1+1",
        "a,bc->ab",
        "abk,kcd->abcd",
        "params.x",
        "params.block",
        "all",
        "none",
        "https://example.org/a.tns",
        std::string(64, 'a'),
        "one",
        "t",
        "t.r.c",
        "0.152%",
        "~14",
        "26M",
        "geomean",
        "r",
        "c",
        "9223372036854775808",
        std::string(300, 'n')}},
      {kOdd, {"", "\x1b[31m"}},
      {"dataset", {"tiny", "matmul-2-2-2", "tiny@all", "lost"}},
      {"methods", {"pasta.cpu.coo", "pasta.cpu.hicoo", "tca_spmm.cpu", "cpd.cpu.als"}},
      {"operation", {"mttkrp", "ttv", "tew"}},
      {"mode", {"all"}},
      {"values", {"stored", "uniform"}},
      {"for", {"tiny"}},
      {"reason", {"because"}},
      {"recipe", {"uniform", "power_law", "movielens"}},
      {"tables", {"t"}},
      {"figures", {"one"}},
      {"check",
       {"1 = 1", "2 * 3 > 5 ^ 2", "max(1, 2) == 3", "one = 1", "t.r.c = 2 * one", "sum(t: c) <= 3",
        "c = c", "c / 0 = 1", "one ^ one = 1"}},
      {"table", {"t"}},
      {"is", {"1", "26M", "0.152%"}},
      {"columns", {"c"}},
      {"value", {"stats.median", "case.mode", "status"}},
      {"hardware", {"any", "Some CPU"}}};
  words["id"] = words["methods"];
  for (const char* key : {"facet", "hue", "label", "mark", "stack", "x", "y"})
    words[key] = {"dataset", "mode", "method", "time"};
  return words;
}

/// The operations that a spec or a profile names.
inline std::set<Operation> operations_in(const nlohmann::json& spec) {
  std::set<Operation> operations;
  const auto named = spec.value("operation", nlohmann::json());
  for (const auto& name : named.is_array() ? named : nlohmann::json::array({named}))
    accepted([&] {
      operations.insert(operation_from_name(name.is_string() ? name.get<std::string>() : ""));
    });
  return operations;
}

/// Leaves out what none of the operations has, and keys that the kind of figure does not look at.
inline void drop_unused(nlohmann::json& part, const std::set<Operation>& operations) {
  const auto drop = [&](nlohmann::json& axes) {
    const auto all = axes;
    for (const auto& [axis, values] : all.items())
      if (std::ranges::none_of(operations, [&axis = axis](Operation operation) {
            return driver::takes_axis(operation, axis);
          }))
        axes.erase(axis);
  };
  if (part.contains("figure") && part["figure"].is_object())
    for (const auto& [key, kinds] : driver::keys_of_kinds())
      if (std::ranges::find(kinds, part["figure"].value("kind", "")) == kinds.end())
        part["figure"].erase(key);
  if (operations.empty()) return;
  if (part.contains("axes") && part["axes"].is_object()) drop(part["axes"]);
  if (part.contains("zip") && part["zip"].is_array()) {
    for (auto& zip : part["zip"])
      if (zip.is_object()) drop(zip);
    std::erase_if(part["zip"].get_ref<nlohmann::json::array_t&>(),
                  [](const nlohmann::json& zip) { return zip.empty(); });
    if (part["zip"].empty()) part.erase("zip");
  }
  if (!operations.contains(Operation::tew)) part.erase("variant");
}

/// Some axis says of which data sets, and in most files some operation uses each.
inline void agree_spec(nlohmann::json& file, Choices& choices) {
  const bool zipped =
      file.contains("zip") && file["zip"].dump().find("dataset") != std::string::npos;
  if (zipped && file.contains("axes")) file["axes"].erase("dataset");
  if (!zipped && file.contains("operation")) file["axes"].emplace("dataset", "tiny");
  if (choices.below(32) == 1) return;
  std::vector<nlohmann::json*> parts = {&file};
  if (file.contains("profiles") && file["profiles"].is_object())
    for (auto& profile : file["profiles"])
      if (profile.is_object()) parts.push_back(&profile);
  std::set<Operation> operations;
  for (const auto* part : parts) operations.merge(operations_in(*part));
  for (auto* part : parts) drop_unused(*part, operations);
}

/// An entry has the sizes of its form and one source: a file or a recipe.
inline void agree_registry(nlohmann::json& file, Choices& choices) {
  for (auto& entry : file["datasets"]) {
    if (!entry.contains("dims")) continue;
    auto& dims = entry["dims"];
    while (entry["form"] == "matrix" && dims.size() != 2)
      dims.size() < 2 ? dims.push_back(4) : dims.erase(dims.size() - 1);
    for (auto& length : dims)
      if (!length.is_number()) length = choices.below(20) + 1;
    entry["kind"] = "real";
    for (const char* other : {"stand_in", "fetch", entry.contains("make") ? "file" : "needs"})
      entry.erase(other);
  }
}

inline const Registry& methods() {
  static const auto all = all_methods();
  return all;
}

inline const driver::DatasetRegistry& datasets() {
  static const auto few = driver::DatasetRegistry::parse(
      R"({schema: 1, datasets: {tiny: {kind: real, form: tensor, dims: [4, 3, 2], nnz: 6,
          file: tiny.tns, source: here, licence: none}}})",
      "registry.yaml");
  return few;
}

/// Small tensors are made too.
inline void use_registry(const std::string& text) {
  static const auto recipes = driver::default_recipes();
  const auto entries = driver::DatasetRegistry::parse(text, "input.yaml", recipes);
  const auto is_small = [](const nlohmann::json& parameter) {
    return !parameter.is_number() || std::abs(parameter.get<double>()) <= 100;
  };
  for (const auto& entry : entries.all()) {
    const auto& dataset = entries.find(entry.first);
    const auto parameters = dataset.recipe_params.flatten();
    if (driver::generators().contains(dataset.recipe) &&
        std::all_of(parameters.begin(), parameters.end(), is_small))
      driver::generate(dataset.recipe, dataset.recipe_params);
  }
}

/// Throws InputError where the text is none of the kind.
struct Kind {
  Grammar grammar;
  void (*use)(const std::string& text);
};

inline const std::array<Kind, 4>& kinds() {
  static const std::array<Kind, 4> all = {
      {{{*driver::whole_spec_shape(), vocabulary(), agree_spec},
        [](const std::string& text) {
          const auto spec = driver::parse_spec(text, "input.yaml");
          const auto foreign = [](const auto& entry) { return entry.foreign.has_value(); };
          // External code becomes methods when a spec is run.
          if (std::none_of(spec.methods.begin(), spec.methods.end(), foreign))
            driver::make_plan(spec, methods(), datasets());
        }},
       {{*driver::registry_shape(), vocabulary(), agree_registry}, use_registry},
       {{*driver::claims_shape(), vocabulary()}, [](const std::string& text) { judge_all(text); }},
       {{*driver::findings_shape(), vocabulary(), agree_findings}, [](const std::string& text) {
          driver::to_json(driver::audit(driver::parse_findings(text, "input.yaml", "."))).dump();
        }}}};
  return all;
}

}  // namespace retensor::fuzz
