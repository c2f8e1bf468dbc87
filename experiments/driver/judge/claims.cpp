// The reader of claims files. Every mistake is refused with its line, since a claim that is
// silently read otherwise than it was meant is worse than none.
#include "experiments/driver/judge/claims.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/algorithm/string/predicate.hpp>
#include <cmath>
#include <limits>
#include <set>

#include "common/core/error.hpp"
#include "experiments/driver/yaml/files.hpp"
#include "experiments/driver/yaml/yaml_tree.hpp"

namespace retensor::driver {
using nlohmann::json;

namespace {

const std::vector<std::string> kKinds = {"SET", "DATA", "EQ",   "TAB", "FIG",
                                         "NUM", "ALG",  "QUAL", "DER"};
const std::vector<std::string> kReductions = {"median",  "mean",  "min",     "max",
                                              "geomean", "count", "distinct"};
constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::string text_at(const YamlNode& map, std::string_view key) {
  return as_text(map.need(key), fmt::format("a text under '{}'", key));
}

std::string text_or_empty(const YamlNode& map, std::string_view key) {
  return map.find(key) == nullptr ? "" : text_at(map, key);
}

std::string one_of(const YamlNode& node, const std::string& what,
                   const std::vector<std::string>& words) {
  auto word = as_text(node, what);
  if (std::find(words.begin(), words.end(), word) == words.end())
    refuse_unknown(node.at, what, word, words);
  return word;
}

double number(const YamlNode& node, const std::string& what) {
  const auto value = scalar_value(node, what);
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return static_cast<double>(*integer);
  if (const auto* real = std::get_if<double>(&value)) return *real;
  throw ParseError(node.at, fmt::format("'{}'", node.text), what + ": a number");
}

/// The only key of a map that may hold one of several.
const YamlNode::Key& only_key(const YamlNode& map, const std::string& what) {
  if (map.keys.size() != 1)
    throw ParseError(map.at, fmt::format("{} keys", map.keys.size()),
                     "exactly one way to state " + what);
  return map.keys.front();
}

std::vector<json> any_of(const YamlNode& node) {
  std::vector<json> values;
  if (node.is_list())
    for (const auto& item : node.items) values.push_back(to_json(item));
  else
    values.push_back(to_json(node));
  for (const auto& value : values) {
    if (value.is_structured() || value.is_null())
      throw ParseError(node.at, "a nested value", "a value or a list of values");
    if (value.is_string() && boost::ends_with(value.get<std::string>(), ".tuned"))
      throw ParseError(node.at, value.get<std::string>(),
                       "a method as published (no claim selects a tuned one)");
  }
  return values;
}

Selection selection(const YamlNode& where) {
  if (!where.is_map() || where.keys.empty())
    throw ParseError(where.at, "no fields", "a map from row fields to values");
  Selection fields;
  for (std::size_t k = 0; k < where.keys.size(); ++k)
    fields[where.keys[k].name] = any_of(where.items[k]);
  return fields;
}

std::string reduction(const YamlNode& node) {
  return one_of(node, "reduction", kReductions);
}

std::vector<Part> ascending_parts(const YamlNode& orders, const Part& standard) {
  std::vector<Part> parts;
  for (const auto& node : as_list(orders, "orders").items) {
    check_map(node, "a part of the ordering", {"where", "value"});
    auto part = standard;
    part.where = selection(node.need("where"));
    if (node.find("value") != nullptr) part.value = text_at(node, "value");
    parts.push_back(std::move(part));
  }
  if (parts.size() < 2) throw ParseError(orders.at, "one selection", "two or more to be ordered");
  return parts;
}

void read_ratio(const YamlNode& ratio, Query& query) {
  check_map(ratio, "ratio_to", {"where", "value", "reduce", "code"});
  query.ratio_to = static_cast<const Part&>(query);
  if (const auto* where = ratio.find("where")) query.ratio_to->where = selection(*where);
  if (ratio.find("value") != nullptr) query.ratio_to->value = text_at(ratio, "value");
  if (const auto* reduce = ratio.find("reduce")) query.ratio_to->reduce = reduction(*reduce);
  if (const auto* code = ratio.find("code"))
    query.competitor = one_of(*code, "code of the competitor", {"own", "original"});
}

Query read_query(const YamlNode& node) {
  check_map(node, "query", {"where", "value", "reduce", "ratio_to", "orders", "per", "machines"});
  Query query;
  query.value = text_at(node, "value");
  query.reduce = reduction(node.need("reduce"));
  if (const auto* machines = node.find("machines"))
    query.all_machines = one_of(*machines, "machines", {"one", "all"}) == "all";
  const auto* per = node.find("per");
  if (per != nullptr)
    for (const auto& name : as_list(*per, "per").items)
      query.per.push_back(as_text(name, "a row field"));
  const auto* orders = node.find("orders");
  const auto* ratio = node.find("ratio_to");
  if (orders != nullptr && (ratio != nullptr || node.find("where") != nullptr))
    throw ParseError(orders->at, "orders beside where or ratio_to", "the selections in orders");
  if (per != nullptr && orders == nullptr && ratio == nullptr)
    throw ParseError(per->at, "per without a comparison", "ratio_to or orders beside it");
  if (orders != nullptr) {
    query.orders = ascending_parts(*orders, query);
    return query;
  }
  query.where = selection(node.need("where"));
  if (ratio != nullptr) read_ratio(*ratio, query);
  return query;
}

Interval read_interval(const YamlNode& published) {
  auto forms = published;
  take(forms, "unit");
  const auto& form = only_key(forms, "the published number").name;
  const auto& node = forms.items.front();
  if (form == "at_least") return {number(node, form), kInfinity};
  if (form == "at_most") return {-kInfinity, number(node, form)};
  if (form == "value") return {number(node, form), number(node, form)};
  const auto& ends = as_list(node, "range").items;
  if (ends.size() != 2 || number(ends[0], form) > number(ends[1], form))
    throw ParseError(node.at, "no range", "[lowest, highest]");
  return {number(ends[0], form), number(ends[1], form)};
}

Tolerance read_tolerance(const YamlNode& node) {
  check_map(node, "tolerance", {"relative", "absolute", "factor"});
  const auto& form = only_key(node, "the tolerance").name;
  const auto value = number(node.items.front(), "tolerance");
  if (form == "factor") {
    if (!(value >= 1)) throw ParseError(node.at, "a factor below 1", "1 or more");
    return {.factor = value};
  }
  if (value < 0) throw ParseError(node.at, "a negative tolerance", "0 or more");
  return form == "relative" ? Tolerance{.relative = value} : Tolerance{.absolute = value};
}

/// What is zero or less has no factor around it.
void expect_positive(const Interval& published, const YamlNode& tolerance) {
  if (tolerance.find("factor") == nullptr) return;
  for (const auto end : {published.low, published.high})
    if (!std::isinf(end) && !(end > 0))
      throw ParseError(tolerance.at, fmt::format("a factor around {}", end),
                       "relative or absolute, or a published number above 0");
}

void read_hardware(const YamlNode& node, Claim& claim) {
  if (!node.is_map()) {
    claim.hardware = as_text(node, "any, a machine, {gpu: name} or {cpu: name}");
    return;
  }
  check_map(node, "hardware", {"gpu", "cpu"});
  claim.hardware_kind = only_key(node, "the hardware").name;
  claim.hardware = text_at(node, claim.hardware_kind);
}

/// A claim is measured by a query, or it says why not, or what excludes it: one of the three.
void read_way(const YamlNode& node, Claim& claim) {
  const auto* query = node.find("query");
  claim.untested = text_or_empty(node, "untested");
  claim.contradicts = text_or_empty(node, "contradicts");
  claim.fitted = text_or_empty(node, "fitted");
  const int ways = (query != nullptr ? 1 : 0) + (claim.untested.empty() ? 0 : 1) +
                   (claim.contradicts.empty() ? 0 : 1);
  if (ways != 1)
    throw ParseError(node.at, fmt::format("{} of query, untested, contradicts", ways),
                     "exactly one");
  if (const auto* tolerance = node.find("tolerance")) {
    claim.tolerance = read_tolerance(*tolerance);
    claim.allowed = to_json(*tolerance);
  }
  if (query == nullptr) return;
  claim.query = read_query(*query);
  if (claim.query->all_machines && claim.hardware != "any")
    throw ParseError(query->at, "all machines together for " + claim.hardware, "hardware: any");
  claim.interval = read_interval(node.need("published"));
  expect_positive(claim.interval, node.need("tolerance"));
}

Claim read_claim(const YamlNode& node) {
  check_map(node, "claim",
            {"id", "place", "kind", "states", "published", "hardware", "tolerance", "query",
             "untested", "contradicts", "fitted"});
  Claim claim;
  claim.line = node.at.line;
  claim.id = text_at(node, "id");
  claim.place = text_at(node, "place");
  claim.kind = one_of(node.need("kind"), "kind", kKinds);
  claim.states = text_at(node, "states");
  if (const auto* published = node.find("published")) {
    check_map(*published, "published", {"value", "at_least", "at_most", "range", "unit"});
    claim.published = to_json(*published);
  }
  read_hardware(node.need("hardware"), claim);
  try {
    read_way(node, claim);
  } catch (ParseError& e) {
    e.add_context("claim " + claim.id);
    throw;
  }
  return claim;
}

}  // namespace

std::vector<Claim> load_claims(const std::string& path) {
  const auto root = parse_yaml(read_small_file(path), path);
  check_map(root, "claims file", {"schema", "paper", "claims"});
  check_schema(root);
  const auto paper = text_at(root, "paper");
  std::vector<Claim> claims;
  std::set<std::string> ids;
  for (const auto& node : as_list(root.need("claims"), "claims").items) {
    claims.push_back(read_claim(node));
    claims.back().paper = paper;
    claims.back().file = path;
    if (!ids.insert(claims.back().id).second)
      throw ParseError(node.at, fmt::format("claim {} a second time", claims.back().id),
                       "ids that differ");
  }
  return claims;
}

}  // namespace retensor::driver
