// The reader of claims files. Every mistake is refused with its line, since a claim that is
// silently read otherwise than it was meant is worse than none.
#include "experiments/driver/judge/claims.hpp"

#include <fmt/format.h>

#include <boost/algorithm/string/predicate.hpp>
#include <cmath>
#include <limits>
#include <set>

#include "common/core/message.hpp"

namespace retensor::driver {
using nlohmann::json;

namespace {

using namespace shape;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

ShapePtr reduce_shape() {
  return word("reduction", {"median", "mean", "min", "max", "geomean", "count", "distinct"});
}

/// Fields of rows may be empty texts.
ShapePtr where_shape() {
  const auto what = "a value or a list of values";
  const auto value = either(what, {word(what, {""}), scalar(what)});
  return map({.what = "a map from row fields to values",
              .others = list_or_one(what, value),
              .key = "field",
              .may_be_empty = false});
}

ShapePtr query_shape() {
  const auto where = named("where", where_shape());
  const auto value = scalar("a row field");
  const auto part = map({.what = "a part of the ordering",
                         .members = {required("where", where), optional("value", value)}});
  const auto ratio =
      map({.what = "ratio_to",
           .members = {optional("where", where), optional("value", value),
                       optional("reduce", reduce_shape()),
                       optional("code", word("code of the competitor", {"own", "original"}))}});
  const auto other_ratio =
      map({.what = "over",
           .members = {required("where", where),
                       required("ratio_to", map({.what = "ratio_to of over",
                                                 .members = {required("where", where)}}))}});
  return map(
      {.what = "query",
       .members = {optional("where", where), required("value", value),
                   required("reduce", reduce_shape()),
                   optional("contains", scalar("a part of a text")), optional("ratio_to", ratio),
                   optional("over", other_ratio), optional("orders", list("orders", part, 2)),
                   optional("per", list("per", scalar("a row field"))),
                   optional("within", word("reduction", {"median", "min", "max", "spread"})),
                   optional("machines", word("machines", {"one", "all"}))},
       .one_of = {{"orders", "where"}},
       .beside = {{"over", {"ratio_to"}}}});
}

ShapePtr published_shape() {
  return map(
      {.what = "published",
       .members = {optional("value", number("value")), optional("at_least", number("at_least")),
                   optional("at_most", number("at_most")),
                   optional("range", list("[lowest, highest]", number("range"), 2, 2)),
                   optional("unit", scalar("a unit"))},
       .one_of = {{"value", "at_least", "at_most", "range"}}});
}

ShapePtr tolerance_shape() {
  return map({.what = "tolerance",
              .members = {optional("relative", number("relative", 0)),
                          optional("absolute", number("absolute", 0)),
                          optional("factor", number("factor", 1))},
              .one_of = {{"relative", "absolute", "factor"}}});
}

ShapePtr hardware_shape() {
  const auto kind =
      map({.what = "hardware",
           .members = {optional("gpu", scalar("a name")), optional("cpu", scalar("a name"))},
           .one_of = {{"gpu", "cpu"}}});
  const auto what = "any, a machine, {gpu: name} or {cpu: name}";
  return either(what, {scalar(what), kind});
}

/// A form of the claim that stood before rows were known, and why another took its place.
ShapePtr earlier_shape() {
  return map(
      {.what = "an earlier form",
       .members = {required("because", scalar("a reason")),
                   optional("states", scalar("what the paper states")),
                   optional("published", published_shape()),
                   optional("tolerance", tolerance_shape()), optional("query", query_shape())}});
}

ShapePtr cause_shape() {
  return map({.what = "a cause",
              .members = {required("says", scalar("why the claim does not hold")),
                          required("shown_by", list("shown_by", scalar("the id of a claim"), 1))}});
}

ShapePtr claim_shape() {
  return map(
      {.what = "claim",
       .members = {required("id", scalar("an id")), required("place", scalar("a place")),
                   required("kind", word("kind", claim_kinds())),
                   required("asks", word("what a claim asks for",
                                         {"measurement", "property", "setting", "definition"})),
                   required("states", scalar("what the paper states")),
                   optional("published", published_shape()), required("hardware", hardware_shape()),
                   optional("tolerance", tolerance_shape()), optional("query", query_shape()),
                   optional("untested", scalar("a reason")),
                   optional("contradicts", scalar("what excludes the claim")),
                   optional("fitted", scalar("a stand-in")),
                   optional("headline", scalar("a headline")), optional("cause", cause_shape()),
                   optional("whole", integer("a number of data sets", 1, 1000)),
                   optional("earlier", list("earlier", earlier_shape()))},
       .one_of = {{"query", "untested", "contradicts"}},
       .beside = {{"query", {"published", "tolerance"}}},
       .named_by = "id"});
}

std::vector<json> any_of(const YamlNode& node) {
  const auto value = to_json(node);
  return node.is_list() ? value.get<std::vector<json>>() : std::vector<json>{value};
}

/// Claims about a paper take no tuned method; those of the project about itself may.
void expect_published_methods(const YamlNode& node, const Part& part) {
  for (const auto& [field, any_of] : part.where)
    for (const auto& value : any_of)
      if (value.is_string() && boost::ends_with(value.get<std::string>(), ".tuned"))
        throw ParseError(node.at, value.get<std::string>(),
                         "a method as published (no claim selects a tuned one)");
}

/// Takes over what a part of a query states.
void read_part(const YamlNode& node, Part& part) {
  if (const auto* where = node.find("where")) {
    part.where.clear();
    for (const auto& values : where->items) part.where[values.key] = any_of(values);
  }
  part.value = text_or(node, "value", part.value);
  part.reduce = text_or(node, "reduce", part.reduce);
  part.contains = text_or(node, "contains", part.contains);
}

Query read_query(const YamlNode& node) {
  Query query;
  read_part(node, query);
  query.all_machines = text_or(node, "machines") == "all";
  query.within = text_or(node, "within", query.within);
  const auto* per = node.find("per");
  const auto* orders = node.find("orders");
  const auto* ratio = node.find("ratio_to");
  if (orders != nullptr && ratio != nullptr)
    throw ParseError(orders->at, "orders beside ratio_to", "one of them");
  if (per != nullptr && orders == nullptr && ratio == nullptr)
    throw ParseError(per->at, "per without a comparison", "ratio_to or orders beside it");
  query.per = texts_of(per);
  for (const auto& part : node.items_of("orders"))
    read_part(part, query.orders.emplace_back(static_cast<const Part&>(query)));
  if (ratio != nullptr) {
    read_part(*ratio, query.ratio_to.emplace(static_cast<const Part&>(query)));
    query.competitor = text_or(*ratio, "code", query.competitor);
  }
  if (const auto* over = node.find("over")) {
    query.over = {query, *query.ratio_to};
    read_part(*over, query.over[0]);
    read_part(over->need("ratio_to"), query.over[1]);
  }
  return query;
}

Interval read_interval(const YamlNode& published) {
  if (const auto* least = published.find("at_least")) return {as_number(*least), kInfinity};
  if (const auto* most = published.find("at_most")) return {-kInfinity, as_number(*most)};
  if (const auto* value = published.find("value")) return {as_number(*value), as_number(*value)};
  const auto& range = published.need("range");
  const Interval ends{as_number(range.items[0]), as_number(range.items[1])};
  if (ends.low > ends.high) throw ParseError(range.at, "no range", "[lowest, highest]");
  return ends;
}

Tolerance read_tolerance(const YamlNode& node) {
  const auto value = as_number(node.items.front());
  if (node.find("factor") != nullptr) return {.factor = value};
  return node.find("relative") != nullptr ? Tolerance{.relative = value}
                                          : Tolerance{.absolute = value};
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
  if (node.is_map()) claim.hardware_kind = node.items.front().key;
  claim.hardware = node.is_map() ? node.items.front().text : node.text;
}

/// What an earlier form may hold too; what it does not state stays as it is.
void read_statement(const YamlNode& node, Claim& claim) {
  claim.states = text_or(node, "states", claim.states);
  if (const auto* published = node.find("published")) {
    claim.published = to_json(*published);
    claim.interval = read_interval(*published);
  }
  if (const auto* tolerance = node.find("tolerance")) {
    claim.tolerance = read_tolerance(*tolerance);
    claim.allowed = to_json(*tolerance);
    if (!claim.published.is_null()) expect_positive(claim.interval, *tolerance);
  }
  const auto* query = node.find("query");
  if (query == nullptr) return;
  claim.query = read_query(*query);
  if (claim.query->all_machines && claim.hardware != "any")
    throw ParseError(query->at, "all machines together for " + claim.hardware, "hardware: any");
}

/// A claim is measured by a query, or it says why not, or what excludes it: one of the three.
void read_way(const YamlNode& node, Claim& claim) {
  claim.untested = text_or(node, "untested");
  claim.contradicts = text_or(node, "contradicts");
  claim.fitted = text_or(node, "fitted");
  claim.asks = node.need("asks").text;
  claim.headline = text_or(node, "headline");
  if (const auto* cause = node.find("cause"))
    claim.cause = Cause{cause->need("says").text, texts_of(cause->find("shown_by"))};
  if (const auto* whole = node.find("whole"))
    claim.whole = static_cast<std::size_t>(as_integer(*whole));
  read_statement(node, claim);
  for (const auto& form : node.items_of("earlier")) {
    auto former = claim;
    former.earlier.clear();
    former.any_form = true;
    read_statement(form, former);
    claim.earlier.push_back({form.need("because").text, std::move(former)});
  }
}

Claim read_claim(const YamlNode& node) {
  Claim claim;
  claim.line = node.at.line;
  claim.id = node.need("id").text;
  claim.place = node.need("place").text;
  claim.kind = node.need("kind").text;
  read_hardware(node.need("hardware"), claim);
  in_context("claim " + claim.id, [&] { read_way(node, claim); });
  return claim;
}

}  // namespace

const std::vector<std::string>& claim_kinds() {
  static const std::vector<std::string> kinds = {"SET", "DATA", "EQ",   "TAB", "FIG",
                                                 "NUM", "ALG",  "QUAL", "DER"};
  return kinds;
}

ShapePtr claims_shape() {
  static const auto claims = file({.what = "a claims file",
                                   .members = {required("paper", scalar("a paper's id")),
                                               required("claims", list("claims", claim_shape()))}});
  return claims;
}

std::vector<Claim> load_claims(const std::string& path) {
  return parse_claims(read_small_file(path), path);
}

std::vector<Claim> parse_claims(std::string_view text, const std::string& name) {
  const auto root = parse_yaml(text, name, claims_shape());
  const auto& paper = root.need("paper").text;
  std::vector<Claim> claims;
  std::set<std::string> ids;
  for (const auto& node : root.items_of("claims")) {
    claims.push_back(read_claim(node));
    claims.back().paper = paper;
    for (auto& former : claims.back().earlier) former.claim.paper = paper;
    if (const auto& query = claims.back().query; query && paper != kProject) {
      expect_published_methods(node, *query);
      if (query->ratio_to) expect_published_methods(node, *query->ratio_to);
      for (const auto* parts : {&query->over, &query->orders})
        for (const auto& part : *parts) expect_published_methods(node, part);
    }
    claims.back().file = name;
    if (!ids.insert(claims.back().id).second)
      throw ParseError(node.at, fmt::format("claim {} a second time", claims.back().id),
                       "ids that differ");
  }
  return claims;
}

}  // namespace retensor::driver
