// The reader of findings files. As with claims, what is misspelt is refused with its line.
#include "experiments/driver/judge/audit/findings.hpp"

#include <algorithm>
#include <filesystem>
#include <set>

#include <fmt/format.h>

#include "common/core/error.hpp"
#include "experiments/driver/yaml/files.hpp"
#include "experiments/driver/yaml/yaml_tree.hpp"

namespace retensor::driver {
namespace {

/// Names that expressions can spell.
constexpr const char* kSpelled = "[A-Za-z_][A-Za-z0-9_]*";
constexpr const char* kSpelledWhat = "letters, digits and _, no digit first";

ShapePtr statement_shape(const std::string& what) {
  return shape::map({.what = what,
                     .members = {shape::required("place", shape::scalar("a place in the paper")),
                                 shape::required("text", shape::scalar("a statement"))}});
}

ShapePtr cell_shape() {
  const auto what = "a printed number, or ~ where there is none";
  return shape::either(what, {shape::nothing(), shape::scalar(what)});
}

ShapePtr table_shape() {
  using namespace shape;
  const auto columns = list("columns", pattern(kSpelledWhat, kSpelled));
  return map({.what = "table",
              .members = {
                  required("place", scalar("a place in the paper")), required("columns", columns),
                  required("rows", map_of("rows as name: [cells]", list("cells", cell_shape())))}});
}

ShapePtr figure_shape() {
  return shape::map({.what = "figure",
                     .members = {shape::required("place", shape::scalar("a place in the paper")),
                                 shape::required("is", cell_shape())}});
}

ShapePtr check_shape() {
  return shape::scalar("a check: sum relation sum");
}

/// What rules and listings have in common.
std::vector<shape::Member> claimed_members(bool test_required) {
  using namespace shape;
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
  using namespace shape;
  const auto reading = map({.what = "reading",
                            .members = {required("states", scalar("what it states")),
                                        required("check", check_shape())}});
  auto members = claimed_members(false);
  for (const auto& member :
       {optional("table", scalar("a table")), optional("rows", list("rows", scalar("a row"))),
        required("check", check_shape()), optional("instead", list("instead", reading))})
    members.push_back(member);
  return map({.what = "rule", .members = members, .beside = {{"rows", {"table"}}}});
}

ShapePtr by_name(const std::string& what, const ShapePtr& values) {
  return shape::map(
      {.what = what, .others = values, .other_names = kSpelled, .other_what = kSpelledWhat});
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
  for (const auto& name : node.need("columns").items) result.columns.push_back(name.text);
  const auto& rows = node.need("rows");
  for (std::size_t r = 0; r < rows.keys.size(); ++r) {
    const auto& cells = rows.items[r].items;
    if (cells.size() != result.columns.size())
      throw ParseError(rows.items[r].at, fmt::format("{} cells", cells.size()),
                       fmt::format("{}, one for each column", result.columns.size()));
    result.rows.push_back(rows.keys[r].name);
    auto& row = result.cells.emplace_back();
    for (const auto& c : cells) row.push_back(cell(c));
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
  const auto path = std::filesystem::path(root) / claimed.source;
  if (!std::filesystem::is_regular_file(path))
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
  const auto* named = node.find("rows");
  for (std::size_t r = 0; named == nullptr && r < table.rows.size(); ++r) rows.push_back(r);
  if (named == nullptr) return rows;
  for (const auto& item : named->items) {
    const auto at = std::find(table.rows.begin(), table.rows.end(), item.text);
    if (at == table.rows.end()) refuse_unknown(item.at, "row", item.text, table.rows);
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
  if (const auto* instead = node.find("instead"))
    for (const auto& item : instead->items)
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

template <class T>
void read_named(const YamlNode* node, std::map<std::string, T>& things,
                T (*read)(const YamlNode&)) {
  if (node == nullptr) return;
  for (std::size_t k = 0; k < node->keys.size(); ++k)
    things[node->keys[k].name] = read(node->items[k]);
}

}  // namespace

ShapePtr findings_shape() {
  using namespace shape;
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
  const auto file = parse_yaml(read_small_file(path), path);
  findings_shape()->check(file);
  Findings result;
  result.paper = file.need("paper").text;
  result.file = path;
  read_named(file.find("tables"), result.tables, table);
  read_named(file.find("figures"), result.figures, figure);
  std::set<std::string> ids;
  for (const auto& node : file.need("rules").items) {
    result.rules.push_back(rule(node, result.tables, root));
    expect_new(ids, result.rules.back(), node.at);
  }
  if (const auto* listings = file.find("listings"))
    for (const auto& node : listings->items) {
      result.listings.push_back(listing(node, root));
      expect_new(ids, result.listings.back(), node.at);
    }
  return result;
}

}  // namespace retensor::driver
