// Pairing of rows and what counts as a change.
#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "experiments/driver/judge/compare.hpp"
#include "tests/unit/made_rows.hpp"

using namespace retensor;
using namespace retensor::driver;
using nlohmann::json;

namespace {

json row(const std::vector<double>& seconds, const json& changes = json::object(),
         const std::string& device = "Some CPU") {
  json c = {{"artifact", "a/b"},         {"dataset", "t"}, {"operation", "ttv"},
            {"method", "x.cpu.y"},       {"mode", 0},      {"launch", 0},
            {"params", {{"threads", 2}}}};
  if (changes.is_object()) c.update(changes);
  return {{"kind", "row"},
          {"key", c.dump()},
          {"case", c},
          {"status", "ok"},
          {"reason", ""},
          {"phases", {{"run", seconds}}},
          {"machine", {{"cpu", {{"model", device}}}, {"gpu", {{"name", device}}}}}};
}

json failed(const std::string& status, const json& changes = json::object()) {
  auto r = row({}, changes);
  r["status"] = status;
  r["reason"] = "because";
  return r;
}

const std::vector<double> kFast = {1.00, 1.01, 0.99, 1.00, 1.02};
const std::vector<double> kSlow = {1.20, 1.22, 1.19, 1.21, 1.20};

Comparison compare(const std::vector<json>& a, const std::vector<json>& b,
                   const CompareOptions& options = {}) {
  Side one(options, options.method_a), other(options, options.method_b);
  for (const auto& line : a) one.add(testing::made_row(line));
  for (const auto& line : b) other.add(testing::made_row(line));
  return compare_sides(one, other, options);
}

Change change(const std::vector<double>& a, const std::vector<double>& b, double threshold = 0.02) {
  const auto found = compare({row(a)}, {row(b)}, {{}, "", "", threshold});
  REQUIRE(found.pairs.size() == 1);
  return found.pairs[0].change;
}

CompareOptions methods(const std::string& a, const std::string& b) {
  return {{}, a, b, 0.02};
}

}  // namespace

TEST_CASE("a change counts beyond its threshold, outside its interval, with enough samples") {
  CHECK(change(kFast, kSlow) == Change::slower);
  CHECK(change(kSlow, kFast) == Change::faster);
  CHECK(change(kFast, kFast) == Change::none);
  CHECK(change(kFast, kSlow, 0.25) == Change::none);
  // The medians differ by 10%, but so do samples of one side.
  CHECK(change({1.0, 1.5, 0.8, 1.1, 0.7}, {1.1, 0.75, 1.6, 0.8, 1.2}) == Change::none);
  CHECK(change({1, 1, 1}, {2, 2, 2}) == Change::too_few);
  CHECK(change({1, 1, 1, 1}, {2, 2, 2, 2}) == Change::slower);
}

TEST_CASE("rows meet by their case; the rest is alone on its side") {
  const auto found =
      compare({row(kFast), row(kFast, {{"mode", 1}})}, {row(kSlow), row(kSlow, {{"mode", 2}})});
  REQUIRE(found.pairs.size() == 1);
  CHECK(found.pairs[0].ratio.value == doctest::Approx(1.2));
  REQUIRE(found.only_a.size() == 1);
  CHECK(found.only_a[0]->row_case()["mode"] == 1);
  REQUIRE(found.only_b.size() == 1);
  CHECK(found.only_b[0]->row_case()["mode"] == 2);
  CHECK(found.worse());
  CHECK(found.warnings().empty());
}

TEST_CASE("what is to be ignored may differ, nested members too") {
  const auto other = row(kSlow, {{"artifact", "a/c"}, {"params", {{"threads", 4}}}});
  CHECK(compare({row(kFast)}, {other}).pairs.empty());
  CHECK(compare({row(kFast)}, {other}, {{"artifact"}, "", ""}).pairs.empty());
  const auto found = compare({row(kFast)}, {other}, {{"artifact", "params.threads"}, "", ""});
  CHECK(found.pairs.size() == 1);
}

TEST_CASE("launches of a case are one measurement") {
  const auto found = compare({row(kFast), row(kFast, {{"launch", 1}})},
                             {row(kSlow), row({1.3, 1.3, 1.3}, {{"launch", 1}})});
  REQUIRE(found.pairs.size() == 1);
  CHECK(found.pairs[0].a->count() == 10);
  CHECK(found.pairs[0].b->samples.size() == 2);
  CHECK(found.pairs[0].ratio.value == doctest::Approx(1.215));
}

TEST_CASE("a case that fails has no ratio; one that no longer works is worse") {
  const auto broken = compare({row(kFast)}, {failed("oom")});
  REQUIRE(broken.pairs.size() == 1);
  CHECK_FALSE(broken.pairs[0].ok());
  CHECK(broken.pairs[0].b->failure == "oom: because");
  CHECK(broken.worse());
  CHECK_FALSE(compare({failed("oom")}, {row(kFast)}).worse());
  const auto launch = compare({row(kFast)}, {row(kFast), failed("crashed", {{"launch", 1}})});
  CHECK(launch.pairs[0].b->failure == "crashed: because");
}

TEST_CASE("rows that say ok without usable samples make no ratio") {
  for (const json& run : {json(), json("x"), json::array(), json{1.0, "x"}, json{1.0, 0.0}}) {
    auto odd = row(kFast);
    odd["phases"]["run"] = run;
    const auto found = compare({odd}, {row(kFast)});
    REQUIRE(found.pairs.size() == 1);
    CHECK(found.pairs[0].a->failure == "no samples");
  }
}

TEST_CASE("other machines are warned of, the same machine is preferred") {
  const auto across = compare({row(kFast, {}, "M")}, {row(kSlow, {}, "N")});
  REQUIRE(across.pairs.size() == 1);
  REQUIRE(across.warnings().size() == 1);
  CHECK(across.warnings()[0] == "different machines in 1 of 1 pairs: A on M, B on N");

  const auto both = compare({row(kFast, {}, "M"), row(kFast, {}, "N")},
                            {row(kSlow, {}, "N"), row(kSlow, {}, "O")});
  REQUIRE(both.pairs.size() == 1);
  CHECK(both.pairs[0].a->device == "N");
  CHECK(both.warnings().empty());
  CHECK(both.only_a.size() == 1);
  CHECK(both.only_b.size() == 1);

  auto nowhere = row(kFast);
  nowhere["machine"] = nullptr;
  CHECK(compare({nowhere}, {nowhere}).warnings().size() == 1);
}

TEST_CASE("a case on one machine on both sides hides none that another model measured on two") {
  const auto on = [](const char* model, const char* machine, const std::vector<double>& seconds) {
    auto line = row(seconds, json::object(), model);
    line["machine"]["identity"] = {{"host", machine}, {"gpu", ""}};
    return line;
  };
  const auto found = compare({on("X", "m1", kFast), on("Y", "m3", kFast)},
                             {on("X", "m2", kSlow), on("Y", "m3", kFast)});
  REQUIRE(found.pairs.size() == 2);
  CHECK(found.only_a.empty());
  CHECK(std::ranges::count(found.pairs, Change::slower, &Pair::change) == 1);
}

TEST_CASE("drifting clocks are warned of") {
  auto drifting = row(kFast);
  drifting["clock_flag"] = true;
  CHECK(compare({drifting}, {row(kFast)}).warnings().size() == 1);
}

TEST_CASE("two methods meet where the parameters that both have agree") {
  const auto of = [](const std::string& method, const json& params, int mode = 0) {
    return row(kFast, {{"method", method}, {"params", params}, {"mode", mode}});
  };
  const std::vector<json> rows = {of("x.cpu.y", {{"threads", 1}, {"update", "atomic"}}),
                                  of("x.cpu.y", {{"threads", 2}, {"update", "owner"}}),
                                  of("x.cpu.y", {{"threads", 2}, {"update", "owner"}}, 1),
                                  of("x.cpu.z", {{"threads", 2}, {"block", 8}}),
                                  of("x.cpu.z", {{"threads", 2}, {"block", 16}}),
                                  of("x.cpu.other", {{"threads", 2}})};
  const auto found = compare(rows, rows, methods("x.cpu.y", "x.cpu.z"));
  REQUIRE(found.pairs.size() == 2);
  for (const auto& pair : found.pairs) {
    CHECK(pair.a->row_case()["params"]["update"] == "owner");
    CHECK(pair.b->row_case()["method"] == "x.cpu.z");
  }
  CHECK(found.only_a.size() == 2);
  CHECK(found.only_b.empty());
}

TEST_CASE("nothing beside nothing is no change") {
  const auto found = compare({}, {});
  CHECK(found.pairs.empty());
  CHECK_FALSE(found.worse());
}
