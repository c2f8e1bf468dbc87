#include "experiments/driver/judge/claims.hpp"

#include <doctest/doctest.h>

#include <fmt/format.h>

#include <cmath>

#include "common/core/error.hpp"
#include "experiments/driver/judge/mutate.hpp"
#include "experiments/driver/spec/case.hpp"
#include "tests/unit/made_claims.hpp"

using namespace retensor;
using namespace retensor::testing;

TEST_CASE("a complete claim is read with all its parts") {
  const auto claim = claim_with(kPublished + kRatio + "    fitted: the stand-in of t\n");
  CHECK(claim.paper == "p");
  CHECK(claim.line == 4);
  CHECK(claim.published["unit"] == "x");
  CHECK(claim.tolerance.relative == 0.1);
  CHECK(to_json(claim, {})["tolerance"] == json{{"relative", 0.1}});
  REQUIRE(claim.query);
  CHECK(claim.query->ratio_to->where.at("method").front() == "b.cpu.y");
  CHECK(claim.query->per == std::vector<std::string>{"dataset"});
  CHECK(claim.query->competitor == "own");
  CHECK(claim.fitted == "the stand-in of t");
}

TEST_CASE("real data that the paper does not use is consistent at most") {
  auto foreign = row("a.cpu.x", "t", 2);
  foreign["case"]["data"]["papers"] = json::array({"q"});
  const auto lines = kPublished + kQuery;
  CHECK(judge_rows(lines, {foreign}).word == Verdict::consistent);
  CHECK(judge_rows(lines, {foreign}).data == "other real");
  foreign["case"]["data"].erase("papers");
  CHECK(judge_rows(lines, {foreign}).word == Verdict::consistent);
  foreign["v"] = 9;
  CHECK(judge_rows(lines, {foreign}).word == Verdict::inconsistent);
}

TEST_CASE("every mistake in a claims file is refused at its line") {
  const auto refuses = [](const std::string& text, const std::string& expected) {
    const auto message = refusal(text);
    INFO(message);
    CHECK(message.find(expected) != std::string::npos);
  };
  const auto good = kPublished + kQuery;
  CHECK(refusal(claims_text(good)).empty());
  refuses(claims_text(kQuery + "    published: {value: 2}\n    hardware: any\n"), ":4:");
  refuses(claims_text(kQuery + "    published: {value: 2}\n    hardware: any\n"), "tolerance");
  refuses(claims_text("    published: {value: 2}\n    hardware: any\n    tolerance: {}\n" + kQuery),
          ":11:");
  refuses(claims_text("    published: {value: 2}\n    hardware: any\n"
                      "    tolerance: {relative: -0.1}\n" +
                      kQuery),
          "found '-0.1', expected relative: a number from 0");
  refuses(claims_text("    published: {value: 2}\n    hardware: any\n"
                      "    tolerance: {factor: 0.5}\n" +
                      kQuery),
          "found '0.5', expected factor: a number from 1");
  refuses(claims_text("    published: {at_least: 0}\n    hardware: any\n"
                      "    tolerance: {factor: 2}\n" +
                      kQuery),
          "a factor around 0");
  refuses(claims_text(good + "    untested: no data\n"),
          "found query beside untested, expected exactly one of");
  refuses(claims_text(kPublished), "found none of query, untested, contradicts");
  refuses(claims_text(good + "    tolerence: 1\n"), "'tolerance'");
  refuses(claims_text("    hardware: any\n    tolerance: {relative: 0}\n" + kQuery), "published");
  refuses(claims_text("    hardware: any\n    tolerance: {relative: 0}\n"
                      "    published: {value: two}\n" +
                      kQuery),
          ":11:");
  refuses(claims_text("    hardware: any\n    tolerance: {relative: 0}\n"
                      "    published: {value: 2, at_least: 1}\n" +
                      kQuery),
          "found value beside at_least");
  refuses(claims_text("    hardware: any\n    tolerance: {relative: 0}\n"
                      "    published: {range: [3, 2]}\n" +
                      kQuery),
          "lowest, highest");
  refuses(claims_text(kPublished +
                      "    query: {where: {method: p.cuda.tuned}, value: v, reduce: median}\n"),
          "no claim selects a tuned one");
  refuses(claims_text(kPublished + "    query: {where: {method: [p.cuda.x, q.cpu.tuned]}, "
                                   "value: v, reduce: median}\n"),
          "no claim selects a tuned one");
  refuses(
      claims_text(kPublished + "    query: {where: {operation: ttv}, value: v, reduce: medium}\n"),
      "'median'");
  refuses(claims_text(kPublished + "    query: {where: {}, value: v, reduce: median}\n"),
          "no fields");
  refuses(claims_text(kPublished + "    query: {where: {operation: ttv}, value: v, reduce: median, "
                                   "per: [dataset]}\n"),
          "per without a comparison");
  refuses(claims_text(kPublished +
                      "    query: {orders: [{where: {a: 1}}], value: v, reduce: median}\n"),
          "found a list of 1, expected orders as a list of 2 or more");
  refuses(claims_text(kPublished + "    query: {where: {a: 1}, orders: [{where: {a: 1}}, {where: "
                                   "{a: 2}}], value: v, reduce: median}\n"),
          "found orders beside where");
  refuses(claims_text(kPublished + "    query: {where: {a: 1}, value: v, reduce: median, over: "
                                   "{where: {a: 2}, ratio_to: {where: {a: 3}}}}\n"),
          "expected the key 'ratio_to'");
  refuses(claims_text(kPublished + "    query: {where: {a: 1}, value: v, reduce: median, ratio_to: "
                                   "{where: {a: 4}}, over: {where: {a: 2}}}\n"),
          "expected the key 'ratio_to'");
  refuses(claims_text(kPublished + "    query: {where: {a: 1}, value: v, reduce: median, ratio_to: "
                                   "{where: {a: 4}}, over: {where: {a: 2}, ratio_to: {where: "
                                   "{method: p.cuda.tuned}}}}\n"),
          "no claim selects a tuned one");
  refuses("schema: 2\npaper: p\nclaims: []\n", ":1:");
  refuses("schema: 1\npaper: p\nclaims:\n  - {id: X}\n", ":4:");
  const auto one = claims_text(good);
  refuses(one + one.substr(one.find("  - id")), "a second time");
}

TEST_CASE("the verdict follows from the data") {
  const auto lines = kPublished + kQuery;
  CHECK(judge_rows(lines, {row("a.cpu.x", "t", 2.1)}).word == Verdict::reproduced);
  CHECK(judge_rows(lines, {row("a.cpu.x", "t", 2.3)}).word == Verdict::deviates);
  CHECK(judge_rows(lines, {row("a.cpu.x", "t", 2.1, "stand-in")}).word == Verdict::consistent);
  CHECK(judge_rows(lines, {row("a.cpu.x", "t", 2.3, "stand-in")}).word == Verdict::inconsistent);
  CHECK(judge_rows(lines, {row("a.cpu.x", "t", 2.1, "generated")}).word == Verdict::consistent);
}

TEST_CASE("a verdict speaks for a claim, against it, or says nothing of it") {
  for (const auto word : {Verdict::reproduced, Verdict::consistent, Verdict::transfers})
    CHECK(holds(word) == true);
  for (const auto word : {Verdict::deviates, Verdict::inconsistent, Verdict::does_not_transfer})
    CHECK(holds(word) == false);
  for (const auto word : {Verdict::fitted, Verdict::not_tested, Verdict::contradicts_itself})
    CHECK_FALSE(holds(word).has_value());
  Verdict v;
  v.word = Verdict::does_not_transfer;
  const auto claim = claim_with(kPublished + kQuery);
  CHECK(to_json(claim, v)["verdict"] == "does not transfer");
  CHECK(to_json(claim, v)["holds"] == false);
  v.word = Verdict::fitted;
  CHECK(to_json(claim, v)["holds"].is_null());
}

TEST_CASE("real data are kept apart unless the query names its data sets") {
  const std::vector<json> rows = {row("a.cpu.x", "r", 2), row("a.cpu.x", "g", 8, "generated")};
  const auto apart = judge_rows(kPublished + kQuery, rows);
  CHECK(apart.word == Verdict::reproduced);
  CHECK(apart.rows == 1);
  const auto named = judge_rows(
      kPublished + "    query: {where: {dataset: [r, g]}, value: v, reduce: min}\n", rows);
  CHECK(named.word == Verdict::consistent);
  CHECK(named.data == "generated");
  CHECK(named.rows == 2);
}

TEST_CASE("a data set that the query names and no row has leaves the claim untested") {
  const auto lines = kPublished + "    query: {where: {dataset: [r, s]}, value: v, reduce: min}\n";
  const auto v = judge_rows(lines, {row("a.cpu.x", "r", 2)});
  CHECK(v.word == Verdict::not_tested);
  CHECK(v.reason.find("1 of 2 data sets") != std::string::npos);
}

TEST_CASE("rows that are not ok do not count, and say why there is no verdict") {
  auto bad = row("a.cpu.x", "t", 2);
  bad["status"] = "oom";
  bad["reason"] = "too large";
  const auto none = judge_rows(kPublished + kQuery, {bad});
  CHECK(none.word == Verdict::not_tested);
  CHECK(none.reason.find("oom: too large") != std::string::npos);
  const auto some = judge_rows(kPublished + kQuery, {bad, row("a.cpu.z", "t", 2)});
  CHECK(some.word == Verdict::undecided);
  CHECK(some.rows == 1);
  CHECK(some.of == 2);
  CHECK(judge_rows(kPublished + kQuery, {}).reason == "no rows yet");
}

TEST_CASE("a tuned method never counts") {
  const auto v = judge_rows(kPublished + kQuery, {row("a.cpu.tuned", "t", 2)});
  CHECK(v.word == Verdict::not_tested);
}

TEST_CASE("absolute values need the paper's hardware") {
  const auto lines = with_hardware("RTX 3090", kQuery);
  const auto other = judge_rows(lines, {row("a.cuda.x", "t", 2, "real", "NVIDIA H200")});
  CHECK(other.word == Verdict::not_tested);
  CHECK(other.hardware == "other");
  const auto same = judge_rows(lines, {row("a.cuda.x", "t", 2, "real", "NVIDIA GeForce RTX 3090"),
                                       row("a.cuda.x", "t", 9, "real", "NVIDIA H200")});
  CHECK(same.word == Verdict::reproduced);
  CHECK(same.machine == "NVIDIA GeForce RTX 3090");
  CHECK(same.rows == 1);
}

TEST_CASE("ratios transfer to another machine of the same kind") {
  const std::vector<json> rows = {row("a.cpu.x", "s", 4), row("b.cpu.y", "s", 2),
                                  row("a.cpu.x", "t", 12), row("b.cpu.y", "t", 6),
                                  row("a.cpu.x", "u", 1)};
  const auto v = judge_rows(with_hardware("Bluesky", kRatio), rows);
  CHECK(v.word == Verdict::transfers);
  CHECK(number(v) == doctest::Approx(2));
  CHECK(v.competitor == "own");
  auto worse = rows;
  worse[0]["v"] = 40;
  CHECK(judge_rows(with_hardware("Bluesky", kRatio), worse).word == Verdict::does_not_transfer);
  CHECK(judge_rows(with_hardware("any", kRatio), rows).word == Verdict::reproduced);
  const auto emulated = judge_rows(with_hardware("{gpu: RTX 3090}", kRatio), rows);
  CHECK(emulated.word == Verdict::not_tested);
  CHECK(emulated.reason.find("the claim is about a gpu") != std::string::npos);
}

TEST_CASE("sizes of different machines stand together where the query says so") {
  const std::vector<json> rows = {row("a.cpu.x", "s", 4, "real", "one"),
                                  row("b.cpu.y", "s", 2, "real", "another")};
  CHECK(judge_rows(with_hardware("any", kRatio), rows).word == Verdict::not_tested);
  const std::string all = kRatio + "      machines: all\n";
  CHECK(judge_rows(with_hardware("any", all), rows).word == Verdict::reproduced);
  CHECK(refusal(claims_text(with_hardware("Bluesky", all))).find("all machines together") !=
        std::string::npos);
}

TEST_CASE("a ratio without partners or to zero is not tested") {
  const auto lines = with_hardware("any", kRatio);
  CHECK(judge_rows(lines, {row("a.cpu.x", "s", 4), row("b.cpu.y", "t", 2)}).word ==
        Verdict::not_tested);
  CHECK(judge_rows(lines, {row("a.cpu.x", "s", 4), row("b.cpu.y", "s", 0)}).reason ==
        "a ratio to zero");
  CHECK(judge_rows(lines, {row("a.cpu.x", "s", 4)}).word == Verdict::not_tested);
}

TEST_CASE("one ratio over another: the gain with three modes is below that with two") {
  const auto of = [](const char* method, const char* modes) {
    return fmt::format("where: {{method: {}, variant: {}}}", method, modes);
  };
  const auto lines = fmt::format(
      "    published: {{at_most: 1, unit: ratio}}\n    tolerance: {{relative: 0.5}}\n"
      "    hardware: any\n    query:\n      {}\n      value: v\n      reduce: geomean\n"
      "      ratio_to: {{{}}}\n      per: [dataset]\n      over: {{{}, ratio_to: {{{}}}}}\n",
      of("b.cpu.y", "three"), of("a.cpu.x", "three"), of("b.cpu.y", "two"), of("a.cpu.x", "two"));
  const auto rows_of = [](double gain_with_three, double gain_with_two) {
    std::vector<json> rows;
    for (const auto& [dataset, own] : {std::pair("s", 4.0), std::pair("t", 10.0)})
      for (const auto& [modes, gain] :
           {std::pair("three", gain_with_three), std::pair("two", gain_with_two)})
        for (const auto& [method, value] :
             {std::pair("a.cpu.x", own), std::pair("b.cpu.y", gain * own)}) {
          rows.push_back(row(method, dataset, value));
          rows.back()["case"]["variant"] = modes;
        }
    return rows;
  };
  const auto lower = judge_rows(lines, rows_of(2.27, 2.7));
  CHECK(lower.word == Verdict::reproduced);
  CHECK(number(lower) == doctest::Approx(2.27 / 2.7));
  CHECK(lower.rows == 8);
  const auto higher = judge_rows(lines, rows_of(2.8, 2.7));  // within the tolerance, but above 1
  CHECK(higher.word == Verdict::deviates);
  CHECK(number(higher) == doctest::Approx(2.8 / 2.7));
  auto fewer = rows_of(2, 3);
  std::erase_if(fewer, [](const json& r) { return r["case"]["variant"] == "two"; });
  CHECK(judge_rows(lines, fewer).reason == "no rows yet");
  auto apart = rows_of(2, 3);
  for (auto& r : apart)
    if (r["case"]["variant"] == "two" && r["case"]["method"] == "a.cpu.x")
      r["case"]["dataset"] = "u";
  CHECK(judge_rows(lines, apart).word == Verdict::not_tested);

  const auto made = made_rows(rows_of(2.27, 2.7));
  const auto claim = claim_with(lines);
  CHECK(nearest_turn(claim, judge(claim, made, {})).has_value());
}

TEST_CASE("an ordering holds strictly, and in the stated share of the groups") {
  const std::string orders =
      "    query:\n      orders: [{where: {method: a.cpu.x}}, {where: {method: b.cpu.y}}]\n"
      "      value: v\n      reduce: median\n      per: [dataset]\n";
  const auto lines =
      "    published: {value: 1}\n    tolerance: {absolute: 0}\n"
      "    hardware: any\n" +
      orders;
  std::vector<json> rows = {row("a.cpu.x", "s", 1), row("b.cpu.y", "s", 2), row("a.cpu.x", "t", 3),
                            row("b.cpu.y", "t", 4)};
  const auto holds = judge_rows(lines, rows);
  CHECK(holds.word == Verdict::reproduced);
  CHECK(holds.reason == "ordering holds");
  rows[2]["v"] = 4;
  const auto tie = judge_rows(lines, rows);
  CHECK(number(tie) == 0.5);
  CHECK(tie.word == Verdict::deviates);
  CHECK(tie.reason == "ordering fails");
}

TEST_CASE("reductions") {
  const auto reduced = [](const std::string& how) {
    const auto v = judge_rows(
        kPublished + "    query: {where: {operation: ttv}, value: v, reduce: " + how + "}\n",
        {row("a.cpu.x", "s", 1), row("a.cpu.x", "t", 4), row("a.cpu.x", "u", 16),
         row("a.cpu.x", "w", 16)});
    return number(v);
  };
  CHECK(reduced("median") == 10);
  CHECK(reduced("mean") == 9.25);
  CHECK(reduced("min") == 1);
  CHECK(reduced("max") == 16);
  CHECK(reduced("count") == 4);
  CHECK(reduced("geomean") == doctest::Approx(std::pow(1024.0, 0.25)));
  const auto zero =
      judge_rows(kPublished + "    query: {where: {operation: ttv}, value: v, reduce: geomean}\n",
                 {row("a.cpu.x", "s", 0)});
  CHECK(zero.word == Verdict::not_tested);
  const auto missing =
      judge_rows(kPublished + "    query: {where: {operation: ttv}, value: w.x, reduce: mean}\n",
                 {row("a.cpu.x", "s", 0)});
  CHECK(missing.reason == "the row of a.cpu.x on s has no number 'w.x'");
}

TEST_CASE("samples count as their median") {
  auto timed = row("a.cpu.x", "s", 0);
  const auto lines =
      kPublished +
      "    query: {where: {operation: ttv}, value: phases.stages.kernel, reduce: max}\n";
  const auto judged = [&](const nlohmann::json& samples) {
    timed["phases"]["stages"]["kernel"] = samples;
    return judge_rows(lines, {timed});
  };
  CHECK(number(judged({3, 1, 8})) == 3);
  CHECK(number(judged({3, 1})) == 2);
  CHECK(judged({3, "1"}).reason == "the row of a.cpu.x on s has no number 'phases.stages.kernel'");
  CHECK(judged(nlohmann::json::array()).word == Verdict::not_tested);

  timed["phases"]["preparations"] = {5, 1, 2};
  const auto prepared = kPublished +
                        "    query: {where: {operation: ttv}, value: phases.preparations, "
                        "reduce: max}\n";
  CHECK(number(judge_rows(prepared, {timed})) == 2);
}

TEST_CASE("a text counts as a number where it is one as a whole") {
  auto told = row("a.cpu.x", "s", 0);
  const auto lines =
      kPublished + "    query: {where: {operation: ttv}, value: executed.ratio, reduce: max}\n";
  told["executed"] = {{"ratio", "2.125"}};
  CHECK(number(judge_rows(lines, {told})) == 2.125);
  for (const char* text : {"2 of 3", "", "nan", "inf", "two"}) {
    told["executed"]["ratio"] = text;
    CHECK(judge_rows(lines, {told}).word == Verdict::not_tested);
  }
}

TEST_CASE("the backend of a method's id stands behind the first dot, with or without a variant") {
  for (const char* id : {"a.cuda", "a.cuda.x", "a.cuda.x.tuned"}) CHECK(is_gpu_method(id));
  for (const char* id : {"a.cpu", "a.cpu.cuda", "cuda.cpu", "a.cudax", "cuda", ""})
    CHECK_FALSE(is_gpu_method(id));
  auto baseline = row("b.cuda", "s", 2, "real", "Some GPU");
  baseline["machine"]["cpu"]["model"] = "Some CPU";
  CHECK(judge_rows(kPublished + kQuery, {baseline}).machine == "Some GPU");
}

TEST_CASE("a ratio may divide by another field, by another reduction, and count distinct values") {
  auto first = row("a.cpu.x", "s", 6), second = row("a.cpu.x", "t", 4);
  first["roof"] = 3;
  second["roof"] = 4;
  const auto measured = [&](const std::string& query) {
    return number(judge_rows(kPublished + "    query: {where: {operation: ttv}, " + query + "}\n",
                             {first, second}));
  };
  CHECK(measured("value: v, reduce: mean, ratio_to: {value: roof}, per: [key]") == 1.5);
  CHECK(measured("value: v, reduce: max, ratio_to: {reduce: min}") == 1.5);
  CHECK(measured("value: v, reduce: max, ratio_to: {where: {dataset: t}, value: roof}") == 1.5);
  CHECK(measured("value: case.dataset, reduce: distinct") == 2);
  CHECK(measured("value: case.method, reduce: distinct") == 1);
  const auto below =
      judge_rows(kPublished +
                     "    query: {orders: [{where: {operation: ttv}, value: roof}, "
                     "{where: {operation: ttv}}], value: v, reduce: median, per: [key]}\n",
                 {first, second});
  CHECK(number(below) == 0.5);  // 3 < 6, but not 4 < 4
}

TEST_CASE("the spread of the rows that agree is the largest of them over the least") {
  const auto measured = [](const std::string& within) {
    return number(
        judge_rows(kPublished +
                       "    query: {where: {method: a.cpu.x}, value: v, reduce: max, "
                       "ratio_to: {where: {method: b.cpu.x}}, per: [operation], within: " +
                       within + "}\n",
                   {row("a.cpu.x", "s", 2), row("a.cpu.x", "t", 12), row("b.cpu.x", "s", 3),
                    row("b.cpu.x", "t", 4)}));
  };
  CHECK(measured("spread") == doctest::Approx(4.5));  // 6 over 4/3
  CHECK(measured("max") == 3);
}

TEST_CASE("intervals and tolerances") {
  const auto outcome = [](const std::string& published, const std::string& tolerance,
                          double value) {
    return judge_rows("    published: {" + published + "}\n    tolerance: {" + tolerance +
                          "}\n    hardware: any\n" + kQuery,
                      {row("a.cpu.x", "t", value)})
        .word;
  };
  CHECK(outcome("value: 0.3", "absolute: 0", 0.1 + 0.2) == Verdict::reproduced);
  CHECK(outcome("value: 10", "absolute: 0.5", 10.6) == Verdict::deviates);
  CHECK(outcome("value: -10", "relative: 0.1", -10.9) == Verdict::reproduced);
  CHECK(outcome("at_least: 2", "relative: 0", 500) == Verdict::reproduced);
  CHECK(outcome("at_least: 2", "relative: 0.1", 1.7) == Verdict::deviates);
  CHECK(outcome("at_most: 2", "relative: 0.1", -1e9) == Verdict::reproduced);
  CHECK(outcome("at_most: 2", "relative: 0.1", 2.3) == Verdict::deviates);
  CHECK(outcome("range: [1, 2]", "relative: 0", 1.5) == Verdict::reproduced);
  CHECK(outcome("range: [1, 2]", "relative: 0", 2.5) == Verdict::deviates);
  CHECK(outcome("value: 0.31", "factor: 2", 0.155) == Verdict::reproduced);
  CHECK(outcome("value: 0.31", "factor: 2", 0.62) == Verdict::reproduced);
  CHECK(outcome("value: 0.31", "factor: 2", 0.154) == Verdict::deviates);
  CHECK(outcome("value: 0.31", "factor: 2", 0.63) == Verdict::deviates);
  CHECK(outcome("value: 0.31", "factor: 1", 0.32) == Verdict::deviates);
  CHECK(outcome("at_least: 4", "factor: 2", 1e9) == Verdict::reproduced);
  CHECK(outcome("at_least: 4", "factor: 2", 1.9) == Verdict::deviates);
  CHECK(outcome("at_most: 4", "factor: 2", 7.9) == Verdict::reproduced);
  CHECK(outcome("at_most: 4", "factor: 2", 8.1) == Verdict::deviates);
  CHECK(outcome("range: [1, 2]", "factor: 2", 0.4) == Verdict::deviates);
  CHECK(outcome("range: [1, 2]", "factor: 2", 4) == Verdict::reproduced);
}

TEST_CASE("fitted, contradicting and untested claims say so whatever the rows are") {
  const std::vector<json> rows = {row("a.cpu.x", "t", 2, "stand-in")};
  const auto own = judge_rows(kPublished + kQuery + "    fitted: t was fitted\n", rows);
  CHECK(own.word == Verdict::fitted);
  CHECK(own.reason == "t was fitted");
  CHECK(judge_rows(kPublished + kQuery, rows, {.fitted_to = {{"t", {"P-1"}}}}).word ==
        Verdict::fitted);
  CHECK(judge_rows(kPublished + kQuery, rows, {.fitted_to = {{"t", {"P-2"}}}}).word ==
        Verdict::consistent);
  CHECK(judge_rows(kPublished + kQuery, rows, {.fitted_to = {{"u", {"P-1"}}}}).word ==
        Verdict::consistent);
  const auto excluded = judge_rows(kPublished + "    contradicts: eq. 3 gives 4\n", rows);
  CHECK(excluded.word == Verdict::contradicts_itself);
  CHECK(excluded.reason == "eq. 3 gives 4");
  const auto untested = judge_rows(kPublished + "    untested: data are private\n", rows);
  CHECK(untested.word == Verdict::not_tested);
  CHECK(untested.reason == "data are private");
}

TEST_CASE("rows whose method has other sources now count as stale") {
  auto old = row("a.cpu.x", "t", 2);
  old["source_hash"] = "of another time";
  const auto v = judge_rows(kPublished + kQuery, {old, row("a.cpu.x", "u", 2)});
  CHECK(v.stale == 1);
  CHECK(v.currency == std::map<std::string, std::size_t>{{"sources", 1}, {"stale", 1}});
  CHECK(v.rows == 2);
}

TEST_CASE("where no machine counts, an outdated row makes room for the same case by today's code") {
  auto old = row("a.cpu.x", "t", 5, "real", "one"), now = row("a.cpu.x", "t", 2, "real", "another");
  old["source_hash"] = "of another time";
  now["key"] = old["key"];
  const std::string all = kPublished +
                          "    query: {where: {operation: ttv}, value: v, "
                          "reduce: max, machines: all}\n";
  const auto both = judge_rows(all, {old, now});
  CHECK(number(both) == 2);
  CHECK(both.stale == 0);
  CHECK(judge_rows(all, {old}).stale == 1);
  auto refused = now;
  refused["status"] = "unsupported";
  CHECK(judge_rows(all, {old, refused}).stale == 1);
  now["source_hash"] = "of another time too";
  CHECK(judge_rows(all, {old, now}).rows == 2);
}
