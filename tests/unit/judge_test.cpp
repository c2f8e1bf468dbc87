// The rules by which rows decide about claims: errors, directions, ranges, samples, part of the
// data, earlier forms, and what would have turned a verdict.
#include <doctest/doctest.h>

#include "experiments/driver/judge/mutate.hpp"
#include "experiments/driver/judge/prose.hpp"
#include "experiments/driver/judge/verdict.hpp"
#include "tests/unit/made_claims.hpp"
#include "tests/unit/temporary_folder.hpp"

using namespace retensor::testing;

namespace {

std::string ratio_claim(const std::string& published, const std::string& tolerance,
                        const std::string& more = "") {
  return "    published: {" + published + "}\n    tolerance: {" + tolerance +
         "}\n    hardware: any\n" + more + kRatio;
}

/// A row with the median time `value` and its interval.
json timed(const std::string& method, const std::string& dataset, double value, double low,
           double high) {
  auto line = row(method, dataset, value);
  line["stats"] = {{"median", value}, {"ci_low", low}, {"ci_high", high}};
  return line;
}

/// `lines` with the median time in place of `v`.
std::string of_times(std::string lines) {
  const std::string field = "value: v";
  for (auto at = lines.find(field); at != std::string::npos; at = lines.find(field, at + 1))
    lines.replace(at, field.size(), "value: stats.median");
  return lines;
}

json with_error(const std::string& dataset, double error, const std::string& status = "ok") {
  auto line = row("a.cpu.x", dataset, 0);
  line["status"] = status;
  line["check"] = {{"error_over_bound", error}};
  return line;
}

const std::string kErrors =
    "    published: {at_most: 1}\n    tolerance: {absolute: 0}\n    hardware: any\n"
    "    query: {where: {operation: ttv}, value: check.error_over_bound, reduce: max}\n";

const std::string kOrder =
    "    published: {value: 1}\n    tolerance: {absolute: 0}\n    hardware: any\n    query:\n"
    "      orders: [{where: {method: a.cpu.x}}, {where: {method: b.cpu.y}}]\n"
    "      value: v\n      reduce: median\n      per: [dataset]\n";

std::string turn_of(const std::string& lines, const std::vector<json>& rows) {
  const auto claim = claim_with(lines);
  const auto made = made_rows(rows);
  const auto turn = nearest_turn(claim, judge(claim, made, {}));
  return turn ? turn->change : "nothing";
}

}  // namespace

TEST_CASE("a claim about errors takes every row, and one that is wrong fails it") {
  const std::vector<json> right = {with_error("s", 0.5), with_error("t", 0.25)};
  CHECK(judge_rows(kErrors, right).word == Verdict::reproduced);
  auto rows = right;
  rows.push_back(with_error("u", 7, "wrong"));
  const auto failed = judge_rows(kErrors, rows);
  CHECK(failed.word == Verdict::deviates);
  CHECK(failed.reason == "1 of 3 rows are wrong");
  CHECK(number(failed) == 7);
  // Whatever its own number says, and on whatever data and machine it is.
  rows.back() = with_error("u", 0.1, "wrong");
  rows.back()["case"]["data"]["kind"] = "generated";
  rows.back()["machine"]["cpu"]["model"] = "Another CPU";
  CHECK(judge_rows(kErrors, rows).word == Verdict::inconsistent);
  rows.back() = with_error("u", 7, "oom");
  CHECK(judge_rows(kErrors, rows).word == Verdict::undecided);
  CHECK(judge_rows(kErrors, rows).failures.size() == 1);
}

TEST_CASE("a statement does not hold while a row that it asks for has no right result") {
  const auto lines = ratio_claim("range: [1.4, 2.2]", "relative: 0.05");
  const auto with = [&](const std::string& status, double time = 1.5) {
    auto broken = row("a.cpu.x", "t", 1.5);
    broken["status"] = status;
    return judge_rows(
        lines, {row("a.cpu.x", "s", time), row("b.cpu.y", "s", 1), broken, row("b.cpu.y", "t", 1)});
  };
  CHECK(with("ok").word == Verdict::reproduced);
  for (const char* status : {"wrong", "crashed", "oom", "timeout"}) {
    CAPTURE(status);
    CHECK(with(status).word == Verdict::undecided);
    CHECK(with(status).reason ==
          "1 of 1 cases inside, 1.5 to 1.5; 1 of 4 rows have no right result");
    CHECK(with(status, 6).word == Verdict::deviates);
  }
  // A method that declines a case, or lacks its data, has no result there to be wrong.
  for (const char* status : {"unsupported", "failed"})
    CHECK(with(status).word == Verdict::reproduced);
}

TEST_CASE("a direction does not hold on the other side of 1, whatever the tolerance") {
  const auto at = [](const std::string& published, double ratio) {
    return judge_rows(ratio_claim(published, "factor: 3"),
                      {row("a.cpu.x", "s", ratio), row("b.cpu.y", "s", 1)})
        .word;
  };
  CHECK(at("value: 2", 0.9) == Verdict::deviates);
  CHECK(at("value: 2", 1.1) == Verdict::reproduced);
  CHECK(at("value: 0.5", 1.1) == Verdict::deviates);
  CHECK(at("value: 0.5", 0.9) == Verdict::reproduced);
  CHECK(at("at_least: 1.2", 0.9) == Verdict::deviates);
  CHECK(at("value: 1", 0.9) == Verdict::reproduced);  // as fast: no direction
  const auto property = ratio_claim("value: 2", "factor: 3", "    asks: property\n");
  CHECK(judge_rows(property, {row("a.cpu.x", "s", 0.9), row("b.cpu.y", "s", 1)}).word ==
        Verdict::reproduced);
}

TEST_CASE("a direction is undecided where the interval of the samples has 1 in it") {
  const auto lines = of_times(ratio_claim("at_least: 1", "absolute: 0"));
  const auto at = [&](double low, double value, double high) {
    return judge_rows(lines,
                      {timed("a.cpu.x", "s", value, low, high), timed("b.cpu.y", "s", 1, 1, 1)});
  };
  CHECK(at(1.1, 1.2, 1.3).word == Verdict::reproduced);
  CHECK(at(0.9, 1.2, 1.3).word == Verdict::undecided);
  CHECK(at(0.9, 1.2, 1.3).reason == "between 0.9 and 1.3");
  CHECK(at(0.7, 0.9, 1.1).word == Verdict::undecided);
  CHECK(at(0.7, 0.8, 0.9).word == Verdict::deviates);
  // Neither where both ends lie beyond what is accepted.
  const auto close = of_times(ratio_claim("value: 1.05", "relative: 0.05"));
  CHECK(judge_rows(close, {timed("a.cpu.x", "s", 1.05, 0.89, 1.24), timed("b.cpu.y", "s", 1, 1, 1)})
            .word == Verdict::undecided);
  CHECK_FALSE(holds(Verdict::undecided).has_value());
  // Far from what is published no interval saves the claim.
  const auto far = of_times(ratio_claim("value: 20", "factor: 2"));
  CHECK(
      judge_rows(far, {timed("a.cpu.x", "s", 1, 0.9, 1.1), timed("b.cpu.y", "s", 1, 1, 1)}).word ==
      Verdict::deviates);
}

TEST_CASE("the interval of a mean narrows with its cases") {
  const auto lines = of_times(ratio_claim("at_least: 1", "absolute: 0"));
  std::vector<json> rows;
  for (const char* dataset : {"s", "t", "u", "w"}) {
    rows.push_back(timed("a.cpu.x", dataset, 1.2, 0.9, 1.6));
    rows.push_back(timed("b.cpu.y", dataset, 1, 1, 1));
    CHECK(judge_rows(lines, rows).word ==
          (rows.size() < 6 ? Verdict::undecided : Verdict::reproduced));
  }
}

TEST_CASE("an ordering whose intervals overlap is undecided") {
  const auto lines = of_times(kOrder);
  const auto at = [&](double high) {
    return judge_rows(lines,
                      {timed("a.cpu.x", "s", 1, 0.9, high), timed("b.cpu.y", "s", 2, 1.8, 2.2)});
  };
  CHECK(at(1.2).word == Verdict::reproduced);
  CHECK(at(2.5).word == Verdict::undecided);
  CHECK(at(2.5).measured->low == 0);
  CHECK(at(2.5).measured->high == 1);
  const std::string all = "value: 1}\n    tolerance: {absolute: 0";
  auto two_thirds = lines;
  two_thirds.replace(two_thirds.find(all), all.size(),
                     "value: 0.67}\n    tolerance: {absolute: 0.1");
  CHECK(judge_rows(two_thirds,
                   {timed("a.cpu.x", "s", 1, 0.9, 2.5), timed("b.cpu.y", "s", 2, 1.8, 2.2)})
            .word == Verdict::undecided);
}

TEST_CASE("from a to b is a statement about each case") {
  const std::vector<json> rows = {row("a.cpu.x", "s", 1.5), row("b.cpu.y", "s", 1),
                                  row("a.cpu.x", "t", 2),   row("b.cpu.y", "t", 1),
                                  row("a.cpu.x", "u", 6),   row("b.cpu.y", "u", 1)};
  const auto lines = ratio_claim("range: [1.4, 2.2]", "relative: 0.05");
  const auto v = judge_rows(lines, rows);
  CHECK(v.word == Verdict::deviates);
  CHECK(v.reason == "2 of 3 cases inside, 1.5 to 6");
  const auto shown = to_json(claim_with(lines), v);
  CHECK(shown["cases"] == json{{"inside", 2}, {"of", 3}, {"least", 1.5}, {"most", 6.0}});
  CHECK(judge_rows(lines, {rows.begin(), rows.begin() + 4}).word == Verdict::reproduced);
}

TEST_CASE("on some of the data sets of a statement it is consistent at most") {
  const DataSets data{.fitted_to = {},
                      .original = {{"s", "s"}, {"t-like", "t"}, {"other", "other"}},
                      .papers = {{"s", {"p"}}, {"t", {"p", "q"}}, {"other", {"q"}}}};
  const auto lines = kPublished + kQuery + "    whole: 2\n";
  const std::vector<json> rows = {row("a.cpu.x", "s", 2), row("a.cpu.x", "other", 2),
                                  row("a.cpu.x", "t-like", 2)};
  const auto some = judge_rows(lines, {rows[0], rows[1]}, data);
  CHECK(some.word == Verdict::consistent);
  CHECK(some.reason == "subset: 1 of 2 data sets");
  CHECK(to_json(claim_with(lines), some)["subset"] == json{{"has", 1}, {"of", 2}});
  const auto whole = judge_rows(lines, rows, data);
  CHECK(whole.word == Verdict::reproduced);
  CHECK(whole.reason.empty());
  CHECK(judge_rows(lines, {row("a.cpu.x", "s", 9)}, data).word == Verdict::deviates);
}

TEST_CASE("an earlier form of a claim is judged beside it") {
  const auto claim = claim_with(kPublished + kQuery +
                                "    earlier:\n      - because: held for anything\n"
                                "        published: {at_least: 0}\n");
  REQUIRE(claim.earlier.size() == 1);
  const auto& former = claim.earlier.front();
  CHECK(former.because == "held for anything");
  CHECK(former.claim.tolerance.relative == 0.1);
  const auto rows = made_rows({row("a.cpu.x", "t", 9)});
  CHECK(judge(claim, rows, {}).word == Verdict::deviates);
  CHECK(judge(former.claim, rows, {}).word == Verdict::reproduced);
}

TEST_CASE("the nearest change that turns a verdict is found") {
  const std::vector<json> rows = {row("a.cpu.x", "s", 3), row("b.cpu.y", "s", 1.5)};
  // 2 holds up to 2.2 and down to 1.8.
  const auto ratio = of_times(ratio_claim("value: 2", "relative: 0.1"));
  const std::vector<json> times = {timed("a.cpu.x", "s", 3, 3, 3),
                                   timed("b.cpu.y", "s", 1.5, 1.5, 1.5)};
  CHECK(turn_of(ratio, times) == "times of a.cpu.x times 1.1");
  CHECK(turn_of(of_times(ratio_claim("at_least: 1", "absolute: 0")), times) ==
        "times of a.cpu.x over 2");
  CHECK(turn_of(of_times(ratio_claim("at_least: 1", "factor: 4")), times) ==
        "times of a.cpu.x over 2");  // never on the other side of 1
  CHECK(turn_of(kErrors, {with_error("s", 0.5), with_error("t", 0.1)}) == "errors times 2");
  CHECK(turn_of(kErrors, {with_error("s", 1e-6)}) == "one result wrong");
  CHECK(turn_of(of_times(kOrder), {timed("a.cpu.x", "s", 1, 1, 1),
                                   timed("b.cpu.y", "s", 9, 9, 9)}) == "both sides swapped");
  // One data set turns a claim about every case.
  const auto range = of_times(ratio_claim("range: [1, 4]", "relative: 0"));
  auto two = times;
  two.push_back(timed("a.cpu.x", "t", 3, 3, 3));
  two.push_back(timed("b.cpu.y", "t", 1, 1, 1));
  CHECK(turn_of(range, two).find("1.333") != std::string::npos);
  CHECK(turn_of(kPublished + kQuery, {row("a.cpu.x", "s", 3)}) == "nothing");  // it does not hold
}

TEST_CASE("counts turn by one, bytes by their double, settings and formulas by nothing") {
  auto line = row("a.cpu.x", "s", 0);
  line["executed"] = {{"mma", "8"}, {"x_bytes", "8.5"}, {"formula_bytes", "8.5"}, {"warps", "4"}};
  line["case"]["params"] = {{"warps", 4}};
  line["case"]["rank"] = 16;
  line["work"] = {{"intensity", 0.25}};
  const auto turned = [&](const std::string& field, const std::string& published,
                          const std::string& more = "") {
    return turn_of("    published: {" + published + "}\n    tolerance: {absolute: 0}\n" +
                       "    hardware: any\n" + more +
                       "    query: {where: {method: a.cpu.x}, value: " + field + ", reduce: max}\n",
                   {line});
  };
  CHECK(turned("executed.mma", "value: 8") == "executed.mma of a.cpu.x one more");
  CHECK(turned("executed.x_bytes", "at_most: 16") == "executed.x_bytes of a.cpu.x times 1.882");
  CHECK(turned("executed.x_bytes", "at_most: 18") == "nothing");
  CHECK(turned("executed.formula_bytes", "value: 8.5") == "nothing");
  CHECK(turned("executed.warps", "value: 4") == "nothing");
  CHECK(turned("case.rank", "value: 16") == "nothing");
  CHECK(turned("rank", "value: 16") == "nothing");
  CHECK(turned("work.intensity", "value: 0.25") == "nothing");
  CHECK(turned("work.intensity", "value: 0.25", "    asks: property\n") != "nothing");
}

TEST_CASE("rows of the project's own form judge no paper, unless the claim names them") {
  const auto form = [](const std::string& method, const json& params, const json& executed) {
    auto line = row(method, "t", 2);
    line["case"]["params"] = params;
    line["executed"] = executed;
    return line;
  };
  const auto published = form("bcb_sptc.cuda", {{"edge", 8}}, {{"path", "blocks"}});
  const auto own = form("bcb_sptc.cuda", {{"edge", 8}}, {{"path", "elements"}});
  const auto other_edge = form("bcb_sptc.cuda", {{"edge", 4}}, {{"path", "blocks"}});
  const auto lines = kPublished + kQuery;
  CHECK(judge_rows(lines, {published}).word == Verdict::reproduced);
  CHECK(judge_rows(lines, {own, other_edge}).reason ==
        "none of 2 rows of bcb_sptc.cuda has the form that the paper describes (form: published)");
  // Of a comparison too, where the rows of the other side are the paper's.
  const auto beside =
      kPublished +
      "    query: {where: {operation: ttv, method: bcb_sptc.cuda}, value: v, reduce: "
      "median, ratio_to: {where: {method: a.cpu}}}\n";
  CHECK(judge_rows(beside, {own, row("a.cpu", "t", 2)}).reason ==
        "none of 1 row of bcb_sptc.cuda has the form that the paper describes (form: published)");
  CHECK(judge_rows(lines, {form("pasta.cpu.coo", {}, {})}).word == Verdict::not_tested);
  CHECK(judge_rows(lines + "    asks: setting\n", {own}).word == Verdict::reproduced);
  const auto named =
      kPublished + "    query: {where: {operation: ttv, form: own}, value: v, reduce: median}\n";
  CHECK(judge_rows(named, {published, own}).rows == 1);
}

TEST_CASE("headlines are told with both numbers, and a failure with its cause or without") {
  const auto entry = [](const std::string& headline, const json& holds, const json& measured,
                        const json& cause = {}) {
    return json{
        {"headline", headline}, {"published", {{"value", 2}, {"unit", "times"}}},
        {"holds", holds},       {"verdict", holds.is_null() ? "not tested" : "inconsistent"},
        {"measured", measured}, {"cause", cause}};
  };
  const json why = {{"says", "it waits"}, {"shown_by", {{"P-8", nullptr}, {"P-9", 0.75}}}};
  const auto told =
      prose_of({entry("a", true, 2.1), entry("b", false, 0.5, why), entry("c", false, 0.25, why),
                entry("d", false, 0.125), entry("e", json(), json())});
  CHECK(told == std::vector<std::string>{
                    "Holds: a (paper: 2, here: 2.1).",
                    "Does not hold: b (paper: 2, here: 0.5) and c (paper: 2, here: 0.25). "
                    "Cause: it waits (shown by P-8, P-9: 0.75).",
                    "Does not hold: d (paper: 2, here: 0.125). Cause not found.",
                    "Not tested: e."});
  CHECK(prose_of({entry("d", false, 1)}).front() == "No headline claim holds.");
  auto none = entry("a", true, 2);
  none["headline"] = nullptr;
  CHECK(prose_of({none}).empty());
}

TEST_CASE("rows whose counters nobody took are left out of claims about counters") {
  auto with = row("a.cpu.x", "s", 0), without = row("a.cpu.x", "t", 0);
  with["profile"] = {{"sm_percent", 2}};
  without["profile"] = {{"reason", "no ncu"}};
  const auto lines =
      kPublished + "    query: {where: {operation: ttv}, value: profile.sm_percent, reduce: max}\n";
  const auto v = judge_rows(lines, {with, without});
  CHECK(v.word == Verdict::reproduced);
  CHECK(v.failures == std::set<std::string>{"a.cpu.x on t: no counters"});
  CHECK(judge_rows(lines, {without}).word == Verdict::not_tested);
}

namespace {

const std::string kOfArtifact =
    "    published: {value: 2}\n    tolerance: {relative: 0.1}\n    hardware: any\n"
    "    query: {where: {case.artifact: p/fig1, method: a.cpu.x}, value: v, reduce: median}\n";

json row_of_artifact(const std::string& dataset) {
  auto line = row("a.cpu.x", dataset, 2);
  line["case"]["artifact"] = "p/fig1";
  return line;
}

LeftOut left_out(const std::string& artifact, Selection when) {
  return {artifact, std::move(when), "takes a day"};
}

Verdict judged(const std::string& lines, const std::vector<json>& rows, const LeftOut& one) {
  const auto made = made_rows(rows);
  return judge(claim_with(lines), made, {}, without_rows({one}, made));
}

}  // namespace

TEST_CASE("what a spec leaves out of the rows that a claim asks for is named") {
  const std::vector<json> rows = {row_of_artifact("d")};
  const auto one = left_out("p/fig1", {{"dataset", {"e"}}, {"method", {"a.cpu.x", "b.cpu.y"}}});
  const auto v = judged(kOfArtifact, rows, one);
  CHECK(v.word == Verdict::reproduced);
  CHECK(v.reason == "p/fig1 leaves out e, a.cpu.x or b.cpu.y: takes a day");
  const auto listed = to_json(claim_with(kOfArtifact), v)["excluded"];
  REQUIRE(listed.size() == 1);
  CHECK(listed[0]["artifact"] == "p/fig1");
  CHECK(listed[0]["when"]["dataset"] == json::array({"e"}));
  CHECK(listed[0]["reason"] == "takes a day");
}

TEST_CASE("nothing is named that a claim does not ask for, or that has rows") {
  const std::vector<json> rows = {row_of_artifact("d")};
  const auto named = [&](const std::string& artifact, Selection when) {
    return judged(kOfArtifact, rows, left_out(artifact, std::move(when))).excluded.size();
  };
  CHECK(named("p/fig1", {{"dataset", {"e"}}}) == 1);
  CHECK(named("p/fig2", {{"dataset", {"e"}}}) == 0);
  CHECK(named("p/fig1", {{"method", {"b.cpu.y"}}}) == 0);
  CHECK(named("p/fig1", {{"dataset", {"d"}}}) == 0);
  CHECK(named("p/fig1", {{"dataset", {"d"}}, {"mode", {1}}}) == 1);
  const std::string of_modes =
      std::string(kOfArtifact).replace(kOfArtifact.find("method:"), 0, "case.dataset: d, ");
  CHECK(judged(of_modes, rows, left_out("p/fig1", {{"dataset", {"e"}}})).excluded.empty());
}

TEST_CASE("exclusions of a spec and of its profiles") {
  const TemporaryFile spec(
      "spec.yaml",
      "schema: 1\nartifact: p/fig1\ntitle: t\noperation: mttkrp\n"
      "axes: {dataset: [wordnet, regS], mode: all}\n"
      "exclude: [{when: {dataset: regS, mode: [1, 2]}, reason: of one law}]\n"
      "methods: [{id: pasta.cpu.coo}]\n"
      "profiles: {quick: {exclude: [{when: {dataset: wordnet}, reason: large}]}, full: {}}\n");
  const auto all = exclusions_of(load_spec(spec.path));
  REQUIRE(all.size() == 2);
  CHECK(text_of(all[0]) == "p/fig1 leaves out regS, mode 1 or 2: of one law");
  CHECK(text_of(all[1]) == "p/fig1 leaves out wordnet: large");
}

TEST_CASE("a text that a figure prints is looked for in a field") {
  const auto judged_on = [](const json& layout) {
    auto line = row("a.cpu.x", "d", 0);
    line["layout"] = layout;
    return judge_rows(
        "    published: {value: 1}\n    tolerance: {absolute: 0}\n    hardware: any\n"
        "    query: {where: {method: a.cpu.x}, value: layout, contains: bi 0 1, reduce: min}\n",
        {line});
  };
  CHECK(judged_on("bptr 0 3; bi 0 1; ei 0 0 1").word == Verdict::reproduced);
  CHECK(judged_on("bptr 0 3; bi 0 2; ei 0 0 1").word == Verdict::deviates);
  CHECK(judged_on(nullptr).word == Verdict::deviates);
}
