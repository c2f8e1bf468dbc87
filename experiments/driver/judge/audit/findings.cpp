// The reader of findings files. As with claims, what is misspelt is refused with its line.
#include "experiments/driver/judge/audit/findings.hpp"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <set>

#include <fmt/format.h>

#include "common/core/error.hpp"
#include "experiments/driver/yaml/files.hpp"
#include "experiments/driver/yaml/yaml_tree.hpp"

namespace retensor::driver {
namespace {

const std::vector<std::string> kSeverities = {"result", "choice", "wording"};
const std::vector<std::string> kConfidences = {"high", "medium", "low"};

std::string text_under(const YamlNode& map, std::string_view key) {
  return as_text(map.need(key), fmt::format("a text under '{}'", key));
}

std::string word_or(const YamlNode& map, std::string_view key, const std::string& standard,
                    const std::vector<std::string>& words) {
  const auto* node = map.find(key);
  if (node == nullptr) return standard;
  auto word = as_text(*node, std::string(key));
  if (std::find(words.begin(), words.end(), word) == words.end())
    refuse_unknown(node->at, std::string(key), word, words);
  return word;
}

/// Names that expressions can spell.
std::string spelled(const std::string& name, const FilePosition& at) {
  const auto is_good = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  };
  const bool digit_first = name.empty() || (name[0] >= '0' && name[0] <= '9');
  if (digit_first || !std::all_of(name.begin(), name.end(), is_good))
    throw ParseError(at, fmt::format("the name '{}'", name),
                     "letters, digits and _, no digit first");
  return name;
}

Cell cell(const YamlNode& node) {
  if (node.kind == YamlNode::Kind::null) return {};
  Cell result{as_text(node, "a printed number, or ~ where there is none"), {}, node.quoted};
  result.number = parse_printed(result.text);
  if (!result.number)
    throw ParseError(node.at, fmt::format("'{}'", result.text),
                     "a number as printed: 480, 0.152%, 26M, 3.72E-9, ~14");
  if (result.certain) result.number = Estimate::exact(result.number->value);
  return result;
}

Figure figure(const YamlNode& node) {
  check_map(node, "figure", {"place", "is"});
  return {text_under(node, "place"), cell(node.need("is"))};
}

Table table(const YamlNode& node) {
  check_map(node, "table", {"place", "columns", "rows"});
  Table result;
  result.place = text_under(node, "place");
  for (const auto& name : as_list(node.need("columns"), "columns").items)
    result.columns.push_back(spelled(as_text(name, "a column"), name.at));
  const auto& rows = node.need("rows");
  if (!rows.is_map()) throw ParseError(rows.at, "no map", "rows as name: [cells]");
  for (std::size_t r = 0; r < rows.keys.size(); ++r) {
    const auto& cells = as_list(rows.items[r], "cells").items;
    if (cells.size() != result.columns.size())
      throw ParseError(rows.items[r].at, fmt::format("{} cells", cells.size()),
                       fmt::format("{}, one for each column", result.columns.size()));
    result.rows.push_back(rows.keys[r].name);
    auto& row = result.cells.emplace_back();
    for (const auto& c : cells) row.push_back(cell(c));
  }
  return result;
}

Statement statement(const YamlNode& node, const std::string& what) {
  check_map(node, what, {"place", "text"});
  return {text_under(node, "place"), text_under(node, "text")};
}

Check check(const YamlNode& node) {
  return parse_check(as_text(node, "a check: sum relation sum"), node.at);
}

void read_test(const YamlNode& test, const std::string& root, Claimed& claimed) {
  check_map(test, "test", {"file", "case"});
  claimed.source = text_under(test, "file");
  claimed.test_case = text_under(test, "case");
  const auto path = std::filesystem::path(root) / claimed.source;
  if (!std::filesystem::is_regular_file(path))
    throw ParseError(test.need("file").at, "no file " + claimed.source, "the source of a test");
  if (read_small_file(path.string()).find("\"" + claimed.test_case + "\"") == std::string::npos)
    throw ParseError(test.need("case").at,
                     fmt::format("no test case '{}' in {}", claimed.test_case, claimed.source),
                     "a name that stands there");
}

void read_claimed(const YamlNode& node, const std::string& root, Claimed& claimed) {
  claimed.id = text_under(node, "id");
  claimed.says = statement(node.need("says"), "says");
  claimed.against = statement(node.need("against"), "against");
  claimed.severity = word_or(node, "severity", "result", kSeverities);
  claimed.confidence = word_or(node, "confidence", "high", kConfidences);
  if (const auto* test = node.find("test")) read_test(*test, root, claimed);
}

/// Positions of the rows of a rule in its table; all without `rows`.
std::vector<std::size_t> rows_of(const YamlNode& node, const Table& table) {
  std::vector<std::size_t> rows;
  const auto* named = node.find("rows");
  for (std::size_t r = 0; named == nullptr && r < table.rows.size(); ++r) rows.push_back(r);
  if (named == nullptr) return rows;
  for (const auto& item : as_list(*named, "rows").items) {
    const auto name = as_text(item, "a row");
    const auto at = std::find(table.rows.begin(), table.rows.end(), name);
    if (at == table.rows.end()) refuse_unknown(item.at, "row", name, table.rows);
    rows.push_back(static_cast<std::size_t>(at - table.rows.begin()));
  }
  return rows;
}

std::vector<std::string> names_of(const std::map<std::string, Table>& tables) {
  std::vector<std::string> names;
  for (const auto& [name, t] : tables) names.push_back(name);
  return names;
}

Rule rule(const YamlNode& node, const std::map<std::string, Table>& tables,
          const std::string& root) {
  check_map(node, "rule",
            {"id", "says", "against", "severity", "confidence", "test", "table", "rows", "check",
             "instead"});
  Rule result;
  read_claimed(node, root, result);
  result.at = node.need("check").at;
  result.check = check(node.need("check"));
  if (const auto* name = node.find("table")) {
    result.table = as_text(*name, "a table");
    if (tables.count(result.table) == 0)
      refuse_unknown(name->at, "table", result.table, names_of(tables));
    result.rows = rows_of(node, tables.at(result.table));
  } else if (const auto* rows = node.find("rows")) {
    throw ParseError(rows->at, "rows without a table", "the key 'table'");
  }
  if (const auto* instead = node.find("instead"))
    for (const auto& item : as_list(*instead, "instead").items) {
      check_map(item, "reading", {"states", "check"});
      result.instead.push_back({text_under(item, "states"), check(item.need("check"))});
    }
  return result;
}

Listing listing(const YamlNode& node, const std::string& root) {
  check_map(node, "listing", {"id", "says", "against", "severity", "confidence", "test"});
  Listing result;
  read_claimed(node, root, result);
  node.need("test");
  return result;
}

void expect_new(std::set<std::string>& ids, const Claimed& claimed, const FilePosition& at) {
  if (!ids.insert(claimed.id).second)
    throw ParseError(at, fmt::format("{} a second time", claimed.id), "ids that differ");
}

void read_named(const YamlNode& node, const std::string& what,
                const std::function<void(const std::string&, const YamlNode&)>& take) {
  if (!node.is_map()) throw ParseError(node.at, "no map", what + " by name");
  for (std::size_t k = 0; k < node.keys.size(); ++k)
    take(spelled(node.keys[k].name, node.keys[k].at), node.items[k]);
}

}  // namespace

Findings load_findings(const std::string& path, const std::string& root) {
  const auto file = parse_yaml(read_small_file(path), path);
  check_map(file, "findings file", {"schema", "paper", "tables", "figures", "rules", "listings"});
  check_schema(file);
  Findings result;
  result.paper = text_under(file, "paper");
  result.file = path;
  if (const auto* tables = file.find("tables"))
    read_named(*tables, "tables",
               [&](const auto& name, const auto& node) { result.tables[name] = table(node); });
  if (const auto* figures = file.find("figures"))
    read_named(*figures, "figures",
               [&](const auto& name, const auto& node) { result.figures[name] = figure(node); });
  std::set<std::string> ids;
  for (const auto& node : as_list(file.need("rules"), "rules").items) {
    result.rules.push_back(rule(node, result.tables, root));
    expect_new(ids, result.rules.back(), node.at);
  }
  if (const auto* listings = file.find("listings"))
    for (const auto& node : as_list(*listings, "listings").items) {
      result.listings.push_back(listing(node, root));
      expect_new(ids, result.listings.back(), node.at);
    }
  return result;
}

}  // namespace retensor::driver
