#include "experiments/driver/yaml/shape.hpp"

#include <doctest/doctest.h>

#include "common/core/error.hpp"

using namespace retensor;
using namespace retensor::driver;
using namespace retensor::driver::shape;
using nlohmann::json;

namespace {

std::string refusal(const ShapePtr& shape, const std::string& text) {
  try {
    shape->check(parse_yaml(text, "f.yaml"));
  } catch (const ParseError& e) {
    return e.what();
  }
  return "accepted";
}

/// The shape of a value under the key `v`.
ShapePtr under_v(ShapePtr value) {
  return map({.what = "a test", .members = {required("v", std::move(value))}});
}

std::string refused_value(const ShapePtr& shape, const std::string& value) {
  return refusal(under_v(shape), "v: " + value + "\n");
}

json printed(const ShapePtr& shape) {
  json parts = json::object();
  return shape->print(parts);
}

}  // namespace

TEST_CASE("an unknown key is refused at its place with the nearest valid one") {
  const auto inner =
      map({.what = "a method",
           .members = {required("id", scalar("an id")), optional("params", anything())}});
  const auto shape = map({.what = "a spec",
                          .members = {required("title", scalar("a title")),
                                      optional("methods", list("methods", inner))}});
  CHECK(refusal(shape, "title: t\nmethods:\n  - {id: a}\n  - id: b\n    param: 1\n") ==
        "f.yaml:5:5: found unknown key 'param', expected 'params' (the nearest of id, params)");
  CHECK(refusal(shape, "titel: t\n") ==
        "f.yaml:1:1: found unknown key 'titel', expected 'title' (the nearest of title, methods)");
  CHECK(refusal(shape, "title: t\nmethods: [{id: a, params: [1, {b: ~}]}]\n") == "accepted");
}

TEST_CASE("a missing member is refused at its map, wherever that lies") {
  const auto inner = map({.what = "a part", .members = {required("id", scalar("an id"))}});
  const auto shape = under_v(list("parts", list("part", inner)));
  CHECK(refusal(shape, "v:\n  - [{id: 1}]\n  - - id: 2\n    - {}\n") ==
        "f.yaml:4:7: found no id, expected the key 'id'");
  CHECK(refusal(shape, "{}\n") == "f.yaml:1:1: found no v, expected the key 'v'");
}

TEST_CASE("scalars of another type or out of range are refused with what was found") {
  CHECK(refused_value(integer("rank", 1, 8), "9") ==
        "f.yaml:1:4: found '9', expected rank: a whole number from 1 to 8");
  for (const char* value : {"0", "1.5", "two", "'3'", "[3]", "{a: 3}", "~", "1e1"})
    CHECK(refused_value(integer("rank", 1, 8), value) != "accepted");
  CHECK(refused_value(integer("rank", 1, 8), "'3'") ==
        "f.yaml:1:4: found '3' in quotes, expected rank: a whole number from 1 to 8");
  CHECK(refused_value(integer("rank", 1, 8), "8") == "accepted");
  CHECK(refused_value(number("share", 0), "-0.5") ==
        "f.yaml:1:4: found '-0.5', expected share: a number from 0");
  CHECK(refused_value(number("share", 0), "1e3") == "accepted");
  CHECK(refused_value(number("share"), "-2") == "accepted");
  CHECK(refused_value(number("share"), "nan") ==
        "f.yaml:1:4: found 'nan', expected share: a number");
  CHECK(refused_value(flag("on"), "yes") == "f.yaml:1:4: found 'yes', expected on: true or false");
  CHECK(refused_value(flag("on"), "true") == "accepted");
  CHECK(refused_value(flag("on"), "'true'") != "accepted");
  CHECK(refused_value(string("a name"), "7") == "f.yaml:1:4: found '7', expected a name");
  CHECK(refused_value(string("a name"), "'7'") == "accepted");
  CHECK(refused_value(scalar("a title"), "{a: 1}") == "f.yaml:1:4: found a map, expected a title");
  CHECK(refused_value(scalar("a title"), "''") != "accepted");
  CHECK(refused_value(scalar("a title"), "7") == "accepted");
  CHECK(refused_value(word("order", {"shuffled", "blocked"}), "shufled") ==
        "f.yaml:1:4: found unknown order 'shufled', expected 'shuffled' (the nearest of shuffled, "
        "blocked)");
  CHECK(refused_value(pattern("a time", "[0-9]+s"), "60") ==
        "f.yaml:1:4: found '60', expected a time");
  CHECK(refused_value(pattern("a time", "[0-9]+s"), "60s") == "accepted");
  CHECK(refused_value(pattern("words", "a*"), std::string(100'000, 'a')) != "accepted");
  CHECK(refused_value(nothing(), "1") == "f.yaml:1:4: found '1', expected nothing");
  CHECK(refused_value(nothing(), "~") == "accepted");
}

TEST_CASE("lists have a length and items of one shape") {
  const auto pairs = list("pairs", list("a pair", integer("end", 0, 9), 2, 2));
  CHECK(refused_value(pairs, "[[1, 2], [3, 10]]") ==
        "f.yaml:1:17: found '10', expected end: a whole number from 0 to 9");
  CHECK(refused_value(pairs, "[[1, 2], [3]]") ==
        "f.yaml:1:13: found a list of 1, expected a pair as a list of 2");
  CHECK(refused_value(pairs, "[]") ==
        "f.yaml:1:4: found an empty list, expected pairs as a list of 1 or more");
  CHECK(refused_value(pairs, "3") == "f.yaml:1:4: found '3', expected pairs as a list");
  CHECK(refused_value(list("dims", scalar("n"), 1, 2), "[1, 2, 3]") ==
        "f.yaml:1:4: found a list of 3, expected dims as a list of 1 to 2");
  CHECK(refused_value(list("parts", scalar("n"), 2), "[1]") ==
        "f.yaml:1:4: found a list of 1, expected parts as a list of 2 or more");
}

TEST_CASE("of several shapes the last that takes the kind of value says what is wrong") {
  const auto mode = list_or_one(
      "mode", either("a mode", {word("mode", {"all"}), integer("mode (or all)", 0, 7)}));
  for (const char* good : {"all", "7", "[0, all]"}) CHECK(refused_value(mode, good) == "accepted");
  CHECK(refused_value(mode, "8") ==
        "f.yaml:1:4: found '8', expected mode (or all): a whole number from 0 to 7");
  CHECK(refused_value(mode, "[0, 8]") ==
        "f.yaml:1:8: found '8', expected mode (or all): a whole number from 0 to 7");
  CHECK(refused_value(mode, "{a: 1}") == "f.yaml:1:4: found a map, expected mode");
}

TEST_CASE("maps under names of the user's choice say which names they take") {
  const auto any = map_of("params", integer("a value", 0, 9));
  CHECK(refused_value(any, "{a: 1, 'b c': 2}") == "accepted");
  CHECK(refused_value(any, "{a: 1, b: x}") ==
        "f.yaml:1:14: found 'x', expected a value: a whole number from 0 to 9");
  const auto spelled = map({.what = "tables",
                            .others = anything(),
                            .other_names = "[a-z]+",
                            .other_what = "small letters",
                            .key = "table",
                            .may_be_empty = false});
  CHECK(refused_value(spelled, "{a: 1, B: 2}") == "f.yaml:1:11: found 'B', expected small letters");
  CHECK(refused_value(spelled, "{}") == "f.yaml:1:4: found no tables, expected tables");
  const auto mixed = map({.what = "conditions",
                          .members = {optional("rank", scalar("a rank"))},
                          .others = anything(),
                          .other_names = "params\\..+",
                          .key = "condition"});
  CHECK(refused_value(mixed, "{rank: 1, params.x: 2}") == "accepted");
  CHECK(refused_value(mixed, "{rnk: 1}") ==
        "f.yaml:1:5: found unknown condition 'rnk', expected 'rank'");
}

TEST_CASE("members that exclude or need each other") {
  const auto shape =
      map({.what = "claim",
           .members = {optional("id", scalar("an id")), optional("query", scalar("a query")),
                       optional("untested", scalar("a reason")),
                       optional("tolerance", scalar("a tolerance"))},
           .one_of = {{"query", "untested"}},
           .beside = {{"query", {"tolerance"}}},
           .named_by = "id"});
  CHECK(refusal(shape, "untested: no data\n") == "accepted");
  CHECK(refusal(shape, "{}\n") ==
        "f.yaml:1:1: found none of query, untested, expected exactly one of them");
  CHECK(refusal(shape, "{query: a, untested: b, tolerance: 1}\n") ==
        "f.yaml:1:1: found query beside untested, expected exactly one of query, untested");
  CHECK(refusal(shape, "{id: P-1, query: a}\n") ==
        "claim P-1: f.yaml:1:1: found query without tolerance, expected the key 'tolerance' beside "
        "it");
}

TEST_CASE("a word or a key chooses the shape of a map") {
  const auto plain = map({.what = "make", .members = {required("recipe", scalar("r"))}});
  const auto seeded = map(
      {.what = "make", .members = {required("recipe", scalar("r")), optional("seed", anything())}});
  const auto make = by_word("recipe", {{"uniform", seeded}}, plain);
  CHECK(refused_value(make, "{recipe: uniform, seed: 1}") == "accepted");
  CHECK(refused_value(make, "{recipe: other, seed: 1}") ==
        "f.yaml:1:20: found unknown key 'seed', expected 'recipe'");
  CHECK(refused_value(make, "{}") == "f.yaml:1:4: found no recipe, expected the key 'recipe'");
  CHECK(refused_value(make, "uniform") == "f.yaml:1:4: found 'uniform', expected make as a map");
  const auto chosen = by_key("seed", seeded, plain);
  CHECK(refused_value(chosen, "{seed: 1}") ==
        "f.yaml:1:4: found no recipe, expected the key 'recipe'");
  CHECK(refused_value(chosen, "{recipe: r}") == "accepted");
}

TEST_CASE("the number of a file's format is looked at before its keys") {
  const auto shape = file({.what = "a spec", .members = {required("title", scalar("a title"))}});
  CHECK(refusal(shape, "schema: 1\ntitle: t\n") == "accepted");
  CHECK(refusal(shape, "new: 1\nschema: 2\n") ==
        "f.yaml:2:9: found schema 2, expected 1, which this program reads");
  CHECK(refusal(shape, "title: t\n") == "f.yaml:1:1: found no schema, expected the key 'schema'");
  CHECK(refusal(shape, "schema: one\ntitle: t\n").find("a schema number") != std::string::npos);
}

TEST_CASE("a shape prints itself as JSON Schema") {
  CHECK(printed(integer("rank", 1, 8)) ==
        json{{"type", "integer"}, {"minimum", 1}, {"maximum", 8}, {"description", "rank"}});
  CHECK(printed(word("order", {"a", "b"})) == json{{"enum", {"a", "b"}}, {"description", "order"}});
  CHECK(printed(pattern("a time", "[0-9]+s"))["pattern"] == "^(?:[0-9]+s)$");
  CHECK(printed(number("share", 0.5))["minimum"] == 0.5);
  CHECK(!printed(number("share")).contains("minimum"));
  const auto pair = printed(list("a pair", flag("on"), 2, 2));
  CHECK(pair["minItems"] == 2);
  CHECK(pair["maxItems"] == 2);
  CHECK(pair["items"]["type"] == "boolean");
  const auto claim =
      printed(map({.what = "claim",
                   .members = {required("id", scalar("an id")), optional("query", anything())},
                   .one_of = {{"query", "id"}},
                   .beside = {{"query", {"id"}}}}));
  CHECK(claim["required"] == json{"id"});
  CHECK(claim["additionalProperties"] == false);
  CHECK(claim["properties"]["query"] == true);
  CHECK(claim["allOf"][0]["oneOf"].size() == 2);
  CHECK(claim["dependentRequired"]["query"] == json{"id"});
  const auto part = named("part", scalar("a part"));
  const auto document = json_schema(
      *file({.what = "a file", .members = {optional("a", part), optional("b", part)}}), "T");
  CHECK(document["$schema"] == "https://json-schema.org/draft/2020-12/schema");
  CHECK(document["title"] == "T");
  CHECK(document["properties"]["schema"]["const"] == 1);
  CHECK(document["properties"]["b"]["$ref"] == "#/$defs/part");
  CHECK(document["$defs"].size() == 1);
}
