// Formats of the project's files with words that may stand in them, and what the program does with
// such a file.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "common/method/registry.hpp"
#include "experiments/driver/judge/audit/audit.hpp"
#include "experiments/driver/spec/plan.hpp"
#include "tests/fuzz/grammar.hpp"
#include "tests/fuzz/judged.hpp"

namespace retensor::fuzz {

inline Vocabulary vocabulary() {
  Vocabulary words = {
      {"",
       {"x",
        "",
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
        "\x1b[31m",
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
  return words;
}

/// Columns, rows, figures and ids of findings mean what the rest of the file calls by their names.
class AgreeingFindings {
 public:
  AgreeingFindings(nlohmann::json& file, Choices& choices) : file_(file), choices_(choices) {}

  void agree() {
    for (const char* optional : {"tables", "figures"})
      if (!file_.contains(optional)) file_[optional] = Json::object();
    for (auto& table : file_["tables"]) {
      for (auto& cells : table["rows"]) agree_row(cells, table["columns"].size());
      if (table["rows"].empty()) agree_row(table["rows"]["r"], table["columns"].size());
    }
    for (auto& figure : file_["figures"]) figure["is"] = cell();
    file_.erase("listings");  // they name a test, and files of others have none
    int id = 0;
    for (auto& rule : file_["rules"]) {
      rule["id"] = fmt::format("R-{}", ++id);
      rule.erase("test");
      agree_rule(rule);
    }
  }

 private:
  using Json = nlohmann::json;

  Json cell() {
    return choices_.of(std::vector<Json>{1, 2.5, "26M", "0.152%", "~14", "3.72E-9", nullptr});
  }

  void agree_row(Json& cells, std::size_t columns) {
    cells = Json::array();
    while (cells.size() < columns) cells.push_back(cell());
  }

  void agree_rule(Json& rule) {
    rule.erase("rows");
    const auto& tables = file_["tables"];
    if (rule.contains("table") && tables.empty()) rule.erase("table");
    std::vector<std::string> terms = {"1", "2.5", "max(1, 2)"};
    for (const auto& [name, figure] : file_["figures"].items()) terms.push_back(name);
    for (const auto& [name, table] : tables.items())
      for (const auto& column : table["columns"])
        terms.push_back(fmt::format("sum({}: {})", name, column.get<std::string>()));
    if (rule.contains("table")) {
      const auto& [name, table] = *tables.items().begin();
      rule["table"] = name;
      for (const auto& [row, cells] : table["rows"].items())
        if (choices_.one_in(2)) rule["rows"].push_back(row);
      for (const auto& column : table["columns"]) terms.push_back(column);
    }
    rule["check"] = check(terms);
    for (auto& reading : rule["instead"]) reading["check"] = check(terms);
    if (rule["instead"].empty()) rule.erase("instead");
  }

  std::string check(const std::vector<std::string>& terms) {
    static const std::vector<std::string> operators = {"+", "-", "*", "/", "^"},
                                          relations = {"=", "==", "<=", ">=", "<", ">"};
    std::string text = choices_.of(terms);
    for (auto n = choices_.below(3); n > 0; --n)
      text += fmt::format(" {} {}", choices_.of(operators), choices_.of(terms));
    return fmt::format("{} {} {}", text, choices_.of(relations), choices_.of(terms));
  }

  Json& file_;
  Choices& choices_;
};

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
  const auto entries = driver::DatasetRegistry::parse(text, "input.yaml");
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
      {{{*driver::whole_spec_shape(), vocabulary()},
        [](const std::string& text) {
          driver::make_plan(driver::parse_spec(text, "input.yaml"), methods(), datasets());
        }},
       {{*driver::registry_shape(), vocabulary()}, use_registry},
       {{*driver::claims_shape(), vocabulary()}, [](const std::string& text) { judge_all(text); }},
       {{*driver::findings_shape(), vocabulary(),
         [](nlohmann::json& file, Choices& choices) { AgreeingFindings(file, choices).agree(); }},
        [](const std::string& text) {
          driver::to_json(driver::audit(driver::parse_findings(text, "input.yaml", "."))).dump();
        }}}};
  return all;
}

}  // namespace retensor::fuzz
