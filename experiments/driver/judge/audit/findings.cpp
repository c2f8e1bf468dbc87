// The reader of findings files. As with claims, what is misspelt is refused with its line.
#include "experiments/driver/judge/audit/findings.hpp"

#include <algorithm>
#include <filesystem>
#include <set>

#include <fmt/format.h>

#include "common/core/error.hpp"
#include "experiments/driver/data/locations.hpp"

namespace retensor::driver {
namespace {

using namespace shape;

/// Names that expressions can spell.
constexpr const char* kSpelled = "[A-Za-z_][A-Za-z0-9_]*";
constexpr const char* kSpelledWhat = "letters, digits and _, no digit first";

ShapePtr statement_shape(const std::string& what) {
  return map({.what = what,
              .members = {required("place", scalar("a place in the paper")),
                          required("text", scalar("a statement"))}});
}

ShapePtr cell_shape() {
  const auto what = "a printed number, or ~ where there is none";
  return either(what, {nothing(), scalar(what)});
}

ShapePtr table_shape() {
  const auto columns = list("columns", pattern(kSpelledWhat, kSpelled));
  return map({.what = "table",
              .members = {
                  required("place", scalar("a place in the paper")), required("columns", columns),
                  required("rows", map_of("rows as name: [cells]", list("cells", cell_shape())))}});
}

ShapePtr figure_shape() {
  return map({.what = "figure",
              .members = {required("place", scalar("a place in the paper")),
                          required("is", cell_shape())}});
}

ShapePtr check_shape() {
  return scalar("a check: sum relation sum");
}

/// What rules and listings have in common.
std::vector<Member> claimed_members(bool test_required) {
  auto test = optional("test", map({.what = "test",
                                    .members = {required("file", scalar("the source of a test")),
                                                required("case", scalar("a test's name"))}}));
  test.required = test_required;
  return {required("id", scalar("an id")),
          required("says", statement_shape("says")),
          required("against", statement_shape("against")),
          optional("severity", word("severity", {"result", "choice", "wording"})),
          optional("confidence", word("confidence", {"high", "medium", "low"})),
          test};
}

ShapePtr rule_shape() {
  const auto reading = map({.what = "reading",
                            .members = {required("states", scalar("what it states")),
                                        required("check", check_shape())}});
  auto members = claimed_members(false);
  members.insert(
      members.end(),
      {optional("table", scalar("a table")), optional("rows", list("rows", scalar("a row"))),
       required("check", check_shape()), optional("instead", list("instead", reading))});
  return map({.what = "rule", .members = members, .beside = {{"rows", {"table"}}}});
}

ShapePtr by_name(const std::string& what, const ShapePtr& values) {
  return map({.what = what, .others = values, .other_names = kSpelled, .other_what = kSpelledWhat});
}

Cell cell(const YamlNode& node) {
  if (node.kind == YamlNode::Kind::null) return {};
  Cell result{node.text, parse_printed(node.text), node.quoted};
  if (!result.number)
    throw ParseError(node.at, shown(node.text),
                     "a number as printed: 480, 0.152%, 26M, 3.72E-9, ~14");
  if (result.certain) result.number = Estimate::exact(result.number->value);
  return result;
}

Figure figure(const YamlNode& node) {
  return {node.need("place").text, cell(node.need("is"))};
}

Table table(const YamlNode& node) {
  Table result;
  result.place = node.need("place").text;
  result.columns = texts_of(&node.need("columns"));
  for (const auto& cells : node.items_of("rows")) {
    if (cells.items.size() != result.columns.size())
      throw ParseError(cells.at, fmt::format("{} cells", cells.items.size()),
                       fmt::format("{}, one for each column", result.columns.size()));
    result.rows.push_back(cells.key);
    auto& row = result.cells.emplace_back();
    for (const auto& c : cells.items) row.push_back(cell(c));
  }
  return result;
}

Statement statement(const YamlNode& node) {
  return {node.need("place").text, node.need("text").text};
}

Check check(const YamlNode& node) {
  return parse_check(node.text, node.at);
}

void read_test(const YamlNode& test, const std::string& root, Claimed& claimed) {
  claimed.source = test.need("file").text;
  claimed.test_case = test.need("case").text;
  if (is_installed(root)) return;
  const auto path = std::filesystem::path(root) / claimed.source;
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error))
    throw ParseError(test.need("file").at, "no file " + claimed.source, "the source of a test");
  if (read_small_file(path.string()).find("\"" + claimed.test_case + "\"") == std::string::npos)
    throw ParseError(test.need("case").at,
                     fmt::format("no test case '{}' in {}", claimed.test_case, claimed.source),
                     "a name that stands there");
}

void read_claimed(const YamlNode& node, const std::string& root, Claimed& claimed) {
  claimed.id = node.need("id").text;
  claimed.says = statement(node.need("says"));
  claimed.against = statement(node.need("against"));
  claimed.severity = text_or(node, "severity", "result");
  claimed.confidence = text_or(node, "confidence", "high");
  if (const auto* test = node.find("test")) read_test(*test, root, claimed);
}

/// Positions of the rows of a rule in its table; all without `rows`.
std::vector<std::size_t> rows_of(const YamlNode& node, const Table& table) {
  std::vector<std::size_t> rows;
  for (const auto& item : node.items_of("rows")) {
    const auto at = std::ranges::find(table.rows, item.text);
    if (at == table.rows.end()) refuse_unknown(item.at, "row", item.text, table.rows);
    rows.push_back(static_cast<std::size_t>(at - table.rows.begin()));
  }
  if (!rows.empty()) return rows;
  rows.resize(table.rows.size());
  std::iota(rows.begin(), rows.end(), std::size_t{0});
  return rows;
}

Rule rule(const YamlNode& node, const std::map<std::string, Table>& tables,
          const std::string& root) {
  Rule result;
  read_claimed(node, root, result);
  result.at = node.need("check").at;
  result.check = check(node.need("check"));
  if (const auto* name = node.find("table")) {
    result.table = name->text;
    if (tables.count(result.table) == 0)
      refuse_unknown(name->at, "table", result.table, names_of(tables));
    result.rows = rows_of(node, tables.at(result.table));
  }
  for (const auto& item : node.items_of("instead"))
    result.instead.push_back({item.need("states").text, check(item.need("check"))});
  return result;
}

Listing listing(const YamlNode& node, const std::string& root) {
  Listing result;
  read_claimed(node, root, result);
  return result;
}

void expect_new(std::set<std::string>& ids, const Claimed& claimed, const FilePosition& at) {
  if (!ids.insert(claimed.id).second)
    throw ParseError(at, fmt::format("{} a second time", claimed.id), "ids that differ");
}

}  // namespace

ShapePtr findings_shape() {
  static const auto findings =
      file({.what = "a findings file",
            .members = {
                required("paper", scalar("a paper's id")),
                optional("tables", by_name("tables by name", table_shape())),
                optional("figures", by_name("figures by name", figure_shape())),
                required("rules", list("rules", rule_shape())),
                optional("listings", list("listings", map({.what = "listing",
                                                           .members = claimed_members(true)})))}});
  return findings;
}

Findings load_findings(const std::string& path, const std::string& root) {
  return parse_findings(read_small_file(path), path, root);
}

Findings parse_findings(std::string_view text, const std::string& name, const std::string& root) {
  const auto file = parse_yaml(text, name, findings_shape());
  Findings result;
  result.paper = file.need("paper").text;
  result.file = name;
  for (const auto& node : file.items_of("tables")) result.tables[node.key] = table(node);
  for (const auto& node : file.items_of("figures")) result.figures[node.key] = figure(node);
  std::set<std::string> ids;
  for (const auto& node : file.items_of("rules")) {
    result.rules.push_back(rule(node, result.tables, root));
    expect_new(ids, result.rules.back(), node.at);
  }
  for (const auto& node : file.items_of("listings")) {
    result.listings.push_back(listing(node, root));
    expect_new(ids, result.listings.back(), node.at);
  }
  return result;
}

}  // namespace retensor::driver
