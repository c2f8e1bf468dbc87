#include "experiments/driver/judge/claims.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "common/core/error.hpp"
#include "experiments/driver/judge/verdict.hpp"
#include "experiments/driver/run/results.hpp"
#include "experiments/driver/spec/case.hpp"

using namespace retensor;
using namespace retensor::driver;
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

struct TempFile {
  std::string path;
  TempFile(const std::string& name, const std::string& text)
      : path((fs::temp_directory_path() / (std::to_string(getpid()) + name)).string()) {
    std::ofstream(path) << text;
  }
  ~TempFile() { fs::remove(path); }
};

/// A claims file with one claim whose lines after the head are `lines`.
std::string claims_text(const std::string& lines) {
  return "schema: 1\npaper: p\nclaims:\n  - id: P-1\n    place: Table I\n    kind: TAB\n"
         "    states: something\n" +
         lines;
}

std::vector<Claim> load(const std::string& text) {
  const TempFile file("claims.yaml", text);
  return load_claims(file.path);
}

std::string refusal(const std::string& text) {
  try {
    load(text);
  } catch (const ParseError& e) {
    return e.what();
  }
  return "";
}

const std::string kPublished =
    "    published: {value: 2, unit: x}\n    hardware: any\n    tolerance: {relative: 0.1}\n";
const std::string kQuery = "    query: {where: {operation: ttv}, value: v, reduce: median}\n";

Claim claim_with(const std::string& lines) {
  return load(claims_text(lines)).front();
}

json row(const std::string& method, const std::string& dataset, double value,
         const std::string& kind = "real", const std::string& device = "Some CPU") {
  return {{"kind", "row"},
          {"status", "ok"},
          {"reason", ""},
          {"key", method + dataset + device},
          {"source_hash", ""},
          {"v", value},
          {"machine", {{"cpu", {{"model", device}}}, {"gpu", {{"name", device}}}}},
          {"case",
           {{"operation", "ttv"},
            {"method", method},
            {"dataset", dataset},
            {"data", {{"kind", kind}, {"papers", json::array({"p"})}}}}}};
}

Verdict judge_rows(const std::string& lines, const std::vector<json>& rows,
                   const FittedTo& fitted = {}) {
  return judge(claim_with(lines), rows, fitted);
}

std::string with_hardware(const std::string& hardware, const std::string& query) {
  return "    published: {value: 2}\n    tolerance: {relative: 0.1}\n    hardware: " + hardware +
         "\n" + query;
}

const std::string kRatio =
    "    query:\n      where: {method: a.cpu.x}\n      value: v\n      reduce: geomean\n"
    "      ratio_to: {where: {method: b.cpu.y}}\n      per: [dataset]\n";

}  // namespace

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
  CHECK(judge_rows(lines, {foreign}).outcome == "consistent");
  CHECK(judge_rows(lines, {foreign}).data == "other real");
  foreign["case"]["data"].erase("papers");
  CHECK(judge_rows(lines, {foreign}).outcome == "consistent");
  foreign["v"] = 9;
  CHECK(judge_rows(lines, {foreign}).outcome == "inconsistent");
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
          ":10:");
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
          ":10:");
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
  refuses("schema: 2\npaper: p\nclaims: []\n", ":1:");
  refuses("schema: 1\npaper: p\nclaims:\n  - {id: X}\n", ":4:");
  const auto one = claims_text(good);
  refuses(one + one.substr(one.find("  - id")), "a second time");
}

TEST_CASE("the outcome follows from the data") {
  const auto lines = kPublished + kQuery;
  CHECK(judge_rows(lines, {row("a.cpu.x", "t", 2.1)}).outcome == "reproduced");
  CHECK(judge_rows(lines, {row("a.cpu.x", "t", 2.3)}).outcome == "deviates");
  CHECK(judge_rows(lines, {row("a.cpu.x", "t", 2.1, "stand-in")}).outcome == "consistent");
  CHECK(judge_rows(lines, {row("a.cpu.x", "t", 2.3, "stand-in")}).outcome == "inconsistent");
  CHECK(judge_rows(lines, {row("a.cpu.x", "t", 2.1, "generated")}).outcome == "consistent");
  CHECK(fails(judge_rows(lines, {row("a.cpu.x", "t", 2.3)}).outcome));
  CHECK_FALSE(fails(judge_rows(lines, {row("a.cpu.x", "t", 2.1)}).outcome));
}

TEST_CASE("real data are kept apart unless the query names its data sets") {
  const std::vector<json> rows = {row("a.cpu.x", "r", 2), row("a.cpu.x", "g", 8, "generated")};
  const auto apart = judge_rows(kPublished + kQuery, rows);
  CHECK(apart.outcome == "reproduced");
  CHECK(apart.rows == 1);
  const auto named = judge_rows(
      kPublished + "    query: {where: {dataset: [r, g]}, value: v, reduce: min}\n", rows);
  CHECK(named.outcome == "consistent");
  CHECK(named.data == "generated");
  CHECK(named.rows == 2);
}

TEST_CASE("a data set that the query names and no row has leaves the claim untested") {
  const auto lines = kPublished + "    query: {where: {dataset: [r, s]}, value: v, reduce: min}\n";
  const auto v = judge_rows(lines, {row("a.cpu.x", "r", 2)});
  CHECK(v.outcome == "not tested");
  CHECK(v.reason.find("1 of 2 data sets") != std::string::npos);
}

TEST_CASE("rows that are not ok do not count, and say why there is no verdict") {
  auto bad = row("a.cpu.x", "t", 2);
  bad["status"] = "oom";
  bad["reason"] = "too large";
  const auto none = judge_rows(kPublished + kQuery, {bad});
  CHECK(none.outcome == "not tested");
  CHECK(none.reason.find("oom: too large") != std::string::npos);
  const auto some = judge_rows(kPublished + kQuery, {bad, row("a.cpu.z", "t", 2)});
  CHECK(some.outcome == "reproduced");
  CHECK(some.rows == 1);
  CHECK(some.of == 2);
  CHECK(judge_rows(kPublished + kQuery, {}).reason == "no rows yet");
}

TEST_CASE("a tuned method never counts") {
  const auto v = judge_rows(kPublished + kQuery, {row("a.cpu.tuned", "t", 2)});
  CHECK(v.outcome == "not tested");
}

TEST_CASE("absolute values need the paper's hardware") {
  const auto lines = with_hardware("RTX 3090", kQuery);
  const auto other = judge_rows(lines, {row("a.cuda.x", "t", 2, "real", "NVIDIA H200")});
  CHECK(other.outcome == "not tested");
  CHECK(other.hardware == "other");
  const auto same = judge_rows(lines, {row("a.cuda.x", "t", 2, "real", "NVIDIA GeForce RTX 3090"),
                                       row("a.cuda.x", "t", 9, "real", "NVIDIA H200")});
  CHECK(same.outcome == "reproduced");
  CHECK(same.machine == "NVIDIA GeForce RTX 3090");
  CHECK(same.rows == 1);
}

TEST_CASE("ratios transfer to another machine of the same kind") {
  const std::vector<json> rows = {row("a.cpu.x", "s", 4), row("b.cpu.y", "s", 2),
                                  row("a.cpu.x", "t", 12), row("b.cpu.y", "t", 6),
                                  row("a.cpu.x", "u", 1)};
  const auto v = judge_rows(with_hardware("Bluesky", kRatio), rows);
  CHECK(v.outcome == "transfers");
  CHECK(*v.measured == doctest::Approx(2));
  CHECK(v.competitor == "own");
  auto worse = rows;
  worse[0]["v"] = 40;
  CHECK(judge_rows(with_hardware("Bluesky", kRatio), worse).outcome == "does not transfer");
  CHECK(fails(judge_rows(with_hardware("Bluesky", kRatio), worse).outcome));
  CHECK(judge_rows(with_hardware("any", kRatio), rows).outcome == "reproduced");
  const auto emulated = judge_rows(with_hardware("{gpu: RTX 3090}", kRatio), rows);
  CHECK(emulated.outcome == "not tested");
  CHECK(emulated.reason.find("the claim is about a gpu") != std::string::npos);
}

TEST_CASE("sizes of different machines stand together where the query says so") {
  const std::vector<json> rows = {row("a.cpu.x", "s", 4, "real", "one"),
                                  row("b.cpu.y", "s", 2, "real", "another")};
  CHECK(judge_rows(with_hardware("any", kRatio), rows).outcome == "not tested");
  const std::string all = kRatio + "      machines: all\n";
  CHECK(judge_rows(with_hardware("any", all), rows).outcome == "reproduced");
  CHECK(refusal(claims_text(with_hardware("Bluesky", all))).find("all machines together") !=
        std::string::npos);
}

TEST_CASE("a ratio without partners or to zero is not tested") {
  const auto lines = with_hardware("any", kRatio);
  CHECK(judge_rows(lines, {row("a.cpu.x", "s", 4), row("b.cpu.y", "t", 2)}).outcome ==
        "not tested");
  CHECK(judge_rows(lines, {row("a.cpu.x", "s", 4), row("b.cpu.y", "s", 0)}).reason ==
        "a ratio to zero");
  CHECK(judge_rows(lines, {row("a.cpu.x", "s", 4)}).outcome == "not tested");
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
  CHECK(holds.outcome == "reproduced");
  CHECK(holds.reason == "ordering holds");
  rows[2]["v"] = 4;
  const auto tie = judge_rows(lines, rows);
  CHECK(*tie.measured == 0.5);
  CHECK(tie.outcome == "deviates");
  CHECK(tie.reason == "ordering fails");
}

TEST_CASE("reductions") {
  const auto reduced = [](const std::string& how) {
    const auto v = judge_rows(
        kPublished + "    query: {where: {operation: ttv}, value: v, reduce: " + how + "}\n",
        {row("a.cpu.x", "s", 1), row("a.cpu.x", "t", 4), row("a.cpu.x", "u", 16),
         row("a.cpu.x", "w", 16)});
    return v.measured.value_or(-1);
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
  CHECK(zero.outcome == "not tested");
  const auto missing =
      judge_rows(kPublished + "    query: {where: {operation: ttv}, value: w.x, reduce: mean}\n",
                 {row("a.cpu.x", "s", 0)});
  CHECK(missing.reason == "'w.x' is no number in the rows selected");
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
  CHECK(judged({3, 1, 8}).measured.value_or(-1) == 3);
  CHECK(judged({3, 1}).measured.value_or(-1) == 2);
  CHECK(judged({3, "1"}).reason == "'phases.stages.kernel' is no number in the rows selected");
  CHECK(judged(nlohmann::json::array()).outcome == "not tested");

  timed["phases"]["preparations"] = {5, 1, 2};
  const auto prepared = kPublished +
                        "    query: {where: {operation: ttv}, value: phases.preparations, "
                        "reduce: max}\n";
  CHECK(judge_rows(prepared, {timed}).measured == 2);
}

TEST_CASE("a text counts as a number where it is one as a whole") {
  auto told = row("a.cpu.x", "s", 0);
  const auto lines =
      kPublished + "    query: {where: {operation: ttv}, value: executed.ratio, reduce: max}\n";
  told["executed"] = {{"ratio", "2.125"}};
  CHECK(judge_rows(lines, {told}).measured == 2.125);
  for (const char* text : {"2 of 3", "", "nan", "inf", "two"}) {
    told["executed"]["ratio"] = text;
    CHECK(judge_rows(lines, {told}).outcome == "not tested");
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
    return judge_rows(kPublished + "    query: {where: {operation: ttv}, " + query + "}\n",
                      {first, second})
        .measured.value_or(-1);
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
  CHECK(below.measured.value_or(-1) == 0.5);  // 3 < 6, but not 4 < 4
}

TEST_CASE("rows of a format that counts its index bytes gain their rate") {
  const TempFile file(
      "rows.jsonl",
      R"({"kind":"row","schema":1,"session":"s","key":"a","case":{"method":"p.cpu.x"},)"
      R"("executed":{"index_bytes":"6000000000"},"stats":{"median":0.5}}
{"kind":"row","schema":1,"session":"s","key":"b","case":{"method":"p.cpu.y"},"stats":{"median":0.5}}
{"kind":"row","schema":1,"session":"s","key":"c","case":{"method":"p.cpu.z"},"executed":{"index_bytes":"6"}}
)");
  const auto rows = newest_rows({file.path});
  REQUIRE(rows.size() == 3);
  CHECK(field(rows[0], "rates.index_gbytes") == 12.0);
  CHECK(field(rows[1], "rates.index_gbytes").is_null());
  CHECK(field(rows[2], "rates.index_gbytes").is_null());
}

TEST_CASE("rows gain the ceilings of their session and the roofline that follows") {
  const TempFile file("rows.jsonl",
                      R"({"kind":"session","schema":1,"session":"s"}
{"kind":"ceilings","schema":1,"session":"s","backend":"cpu","ceilings":[)"
                      R"({"what":"copy_dram","value":10},{"what":"triad_dram","value":20},)"
                      R"({"what":"peak_f32","value":100}]}
{"kind":"row","schema":1,"session":"s","key":"a","case":{"method":"p.cpu.x"},"work":{"intensity":0.5},"rates":{"gflops":5}}
{"kind":"row","schema":1,"session":"s","key":"b","case":{"method":"p.cuda.x"},"work":{"intensity":0.5},"rates":{"gflops":5}}
)");
  const auto rows = newest_rows({file.path});
  REQUIRE(rows.size() == 2);
  CHECK(field(rows[0], "ceilings.copy_dram") == 10);
  CHECK(field(rows[0], "roofline.gbytes") == 20.0);
  CHECK(field(rows[0], "roofline.gflops") == 10.0);
  CHECK(field(rows[0], "roofline.share") == 0.5);
  CHECK(field(rows[0], "roofline.ridge") == 5.0);
  CHECK(field(rows[1], "roofline.gflops").is_null());  // nothing was measured on the GPU
}

TEST_CASE("intervals and tolerances") {
  const auto outcome = [](const std::string& published, const std::string& tolerance,
                          double value) {
    return judge_rows("    published: {" + published + "}\n    tolerance: {" + tolerance +
                          "}\n    hardware: any\n" + kQuery,
                      {row("a.cpu.x", "t", value)})
        .outcome;
  };
  CHECK(outcome("value: 0.3", "absolute: 0", 0.1 + 0.2) == "reproduced");
  CHECK(outcome("value: 10", "absolute: 0.5", 10.6) == "deviates");
  CHECK(outcome("value: -10", "relative: 0.1", -10.9) == "reproduced");
  CHECK(outcome("at_least: 2", "relative: 0", 500) == "reproduced");
  CHECK(outcome("at_least: 2", "relative: 0.1", 1.7) == "deviates");
  CHECK(outcome("at_most: 2", "relative: 0.1", -1e9) == "reproduced");
  CHECK(outcome("at_most: 2", "relative: 0.1", 2.3) == "deviates");
  CHECK(outcome("range: [1, 2]", "relative: 0", 1.5) == "reproduced");
  CHECK(outcome("range: [1, 2]", "relative: 0", 2.5) == "deviates");
  CHECK(outcome("value: 0.31", "factor: 2", 0.155) == "reproduced");
  CHECK(outcome("value: 0.31", "factor: 2", 0.62) == "reproduced");
  CHECK(outcome("value: 0.31", "factor: 2", 0.154) == "deviates");
  CHECK(outcome("value: 0.31", "factor: 2", 0.63) == "deviates");
  CHECK(outcome("value: 0.31", "factor: 1", 0.32) == "deviates");
  CHECK(outcome("at_least: 4", "factor: 2", 1e9) == "reproduced");
  CHECK(outcome("at_least: 4", "factor: 2", 1.9) == "deviates");
  CHECK(outcome("at_most: 4", "factor: 2", 7.9) == "reproduced");
  CHECK(outcome("at_most: 4", "factor: 2", 8.1) == "deviates");
  CHECK(outcome("range: [1, 2]", "factor: 2", 0.4) == "deviates");
  CHECK(outcome("range: [1, 2]", "factor: 2", 4) == "reproduced");
}

TEST_CASE("fitted, contradicting and untested claims say so whatever the rows are") {
  const std::vector<json> rows = {row("a.cpu.x", "t", 2, "stand-in")};
  const auto own = judge_rows(kPublished + kQuery + "    fitted: t was fitted\n", rows);
  CHECK(own.outcome == "fitted");
  CHECK(own.reason == "t was fitted");
  CHECK(judge_rows(kPublished + kQuery, rows, {{"t", {"P-1"}}}).outcome == "fitted");
  CHECK(judge_rows(kPublished + kQuery, rows, {{"t", {"P-2"}}}).outcome == "consistent");
  CHECK(judge_rows(kPublished + kQuery, rows, {{"u", {"P-1"}}}).outcome == "consistent");
  const auto excluded = judge_rows(kPublished + "    contradicts: eq. 3 gives 4\n", rows);
  CHECK(excluded.outcome == "contradicts itself");
  CHECK(excluded.reason == "eq. 3 gives 4");
  const auto untested = judge_rows(kPublished + "    untested: data are private\n", rows);
  CHECK(untested.outcome == "not tested");
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

TEST_CASE("of two rows of a case on one machine the newer counts") {
  auto first = row("a.cpu.x", "t", 1), second = row("a.cpu.x", "t", 2);
  const auto line = [](json r, const std::string& session, const std::string& finished) {
    r.erase("machine");
    r["schema"] = 1;
    r["session"] = session;
    r["finished"] = finished;
    return r.dump() + '\n';
  };
  const auto session = [](const std::string& id, const std::string& cpu) {
    return json{{"kind", "session"},
                {"schema", 1},
                {"session", id},
                {"machine", {{"cpu", {{"model", cpu}}}}}}
               .dump() +
           '\n';
  };
  const TempFile newer("newer.jsonl", session("s", "A") + line(second, "s", "2026-02-01"));
  const TempFile older("older.jsonl", session("t", "A") + line(first, "t", "2026-01-01"));
  const TempFile elsewhere("other.jsonl", session("u", "B") + line(first, "u", "2026-01-01"));
  const auto same = newest_rows({newer.path, older.path});
  REQUIRE(same.size() == 1);
  CHECK(same[0]["v"] == 2);
  CHECK(field(same[0], "machine.cpu.model") == "A");
  CHECK(newest_rows({newer.path, older.path, elsewhere.path}).size() == 2);
}
