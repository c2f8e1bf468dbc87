#include "experiments/driver/spec/plan.hpp"

#include <doctest/doctest.h>

#include <map>
#include <memory>
#include <set>

#include "common/core/error.hpp"
#include "tests/support/complaint.hpp"
#include "tests/support/declared_method.hpp"

using namespace retensor;
using namespace retensor::driver;
using namespace retensor::test;

namespace {

/// A method with one parameter of each type.
std::unique_ptr<Method> tunable() {
  return std::make_unique<test::DeclaredMethod>(
      "t.cpu.x", ParamSchema{param("threads", 1, "threads").range(1, 64),
                             param("share", 0.5, "share").range(0, 1),
                             param("update", "atomic", "update").words({"atomic", "owner"})});
}

const DatasetRegistry& datasets() {
  static const auto registry = DatasetRegistry::parse(R"(schema: 1
datasets:
  cube: {kind: generated, form: tensor, dims: [10, 20, 30], nnz: 100, source: s, licence: l,
         make: {recipe: uniform, dims: [10, 20, 30], nnz: 100}}
  four: {kind: generated, form: tensor, dims: [4, 4, 4, 4], nnz: 10, source: s, licence: l,
         make: {recipe: uniform, dims: [4, 4, 4, 4], nnz: 10}}
  flat: {kind: generated, form: matrix, dims: [50, 60], nnz: 70, source: s, licence: l,
         make: {recipe: uniform, dims: [50, 60], nnz: 70}}
  like: {kind: stand-in, form: tensor, dims: [9, 9, 9], nnz: 9, source: s, licence: l,
         make: {recipe: power_law, exponent: 0.6},
         stand_in: {for: secret, fitted_to: x, residual: {nnz: 0}, variants: {seed: {seed: 2},
                    skew: {exponent: 1}, clustering: {run: 3, group: 3}}}}
  secret: {kind: private, form: tensor, dims: [5, 5, 5], nnz: 10, source: s, licence: l}
)",
                                                      "r.yaml");
  return registry;
}

Plan plan(const std::string& body, const std::string& methods = "[{id: t.cpu.x}]") {
  Registry registry;
  registry.add(tunable());
  const auto text = "schema: 1\nartifact: p/a\ntitle: T\n" + body + "\nmethods: " + methods + "\n";
  return make_plan(parse_spec(text, "s.yaml"), registry, datasets());
}

std::string plan_refusal(const std::string& body, const std::string& methods = "[{id: t.cpu.x}]") {
  return refusal_of([&] { plan(body, methods); }, "accepted");
}

}  // namespace

TEST_CASE("NAME@all is a stand-in with its variants") {
  const auto p = plan(
      "operation: ts\naxes: {dataset: [cube, like@all]}\n"
      "exclude: [{when: {dataset: like@seed}, reason: enough}]");
  std::vector<std::string> names;
  for (const auto& c : p.cases) names.push_back(c.dataset);
  CHECK(names == std::vector<std::string>{"cube", "like", "like@skew", "like@clustering"});
  CHECK(p.skips.size() == 1);
  CHECK(plan("operation: ts\naxes: {dataset: like@all}\n"
             "exclude: [{when: {dataset: like@all}, reason: none}]")
            .cases.empty());
  CHECK(contains(plan_refusal("operation: ts\naxes: {dataset: cube@all}"), "s.yaml:5:"));
  CHECK(contains(plan_refusal("operation: ts\naxes: {dataset: cube@all}"), "not a stand-in"));
  CHECK(contains(plan_refusal("operation: ts\naxes: {dataset: like@skwe}"), "'like@skew'"));
}

TEST_CASE("axes are crossed; mode all gives every mode that a tensor has") {
  const auto p = plan("operation: mttkrp\naxes: {dataset: [cube, four], mode: all, rank: [8, 16]}");
  CHECK(p.cases.size() == 2 * 3 + 2 * 4);
  CHECK(p.skips.empty());
  CHECK(p.cases.front().dataset == "cube");
  CHECK(p.cases.back().dataset == "four");
  CHECK(p.cases.front().params.at("update") == ParamValue(std::string("atomic")));
}

TEST_CASE("axes that an operation does not use make no further cases") {
  const auto p =
      plan("operation: [tew, ts, ttv, ttm]\naxes: {dataset: cube, mode: 1, rank: [8, 16, 32]}");
  REQUIRE(p.cases.size() == 6);
  CHECK(p.cases[0].problem.variant == "add");
  CHECK(p.cases[1].problem.variant == "mul");
  const auto row = to_json(p.cases[0], nullptr);
  CHECK(row["mode"].is_null());
  CHECK(row["rank"].is_null());
  CHECK(to_json(p.cases[2], nullptr)["mode"] == 1);
}

TEST_CASE("zip walks lists together, params are axes, launches are cases") {
  const auto p = plan(
      "operation: ts\nzip: [{seed: [1, 2, 3], scalar: [0.5, 2, 4]}]\n"
      "axes: {dataset: cube}\nmeasure: {launches: 2}",
      "[{id: t.cpu.x, params: {threads: [1, 2], share: 1}}]");
  CHECK(p.cases.size() == 3 * 2 * 2);
  std::set<std::string> keys;
  for (const auto& c : p.cases) {
    keys.insert(case_key(driver::to_json(c, nullptr)));
    CHECK(c.params.at("share") == ParamValue(1.0));
    CHECK((c.problem.seed == 1) == (c.problem.scalar == 0.5));
  }
  CHECK(keys.size() == p.cases.size());
}

TEST_CASE("what can't run is a skip with its reason") {
  const auto p = plan(
      "operation: [mttkrp, spmm]\naxes: {dataset: [cube, flat, secret], mode: 2}\n"
      "exclude: [{when: {operation: mttkrp, dataset: cube, params.threads: 2}, "
      "reason: known}]",
      "[{id: t.cpu.x, params: {threads: [1, 2]}}]");
  CHECK(p.cases.size() == 1 + 2);
  std::map<std::string, int> reasons;
  for (const auto& skip : p.skips) ++reasons[skip.reason];
  CHECK(reasons["known"] == 1);
  CHECK(reasons["private data set: published facts only"] == 4);
  CHECK(reasons["mttkrp: found mode 2, expected 0 to 1"] == 2);
  CHECK(reasons["spmm: found a tensor of order 3, expected 2"] == 2);
}

TEST_CASE("an exclusion that matches no case is noted with its place") {
  const auto body = std::string("operation: mttkrp\naxes: {dataset: [cube, flat], mode: [0, 1]}\n");
  const auto p = plan(body +
                      "exclude:\n  - {when: {mode: 1}, reason: first}\n"
                      "  - {when: {dataset: cube, mode: 1}, reason: within the first}\n"
                      "  - {when: {dataset: four}, reason: not here}");
  CHECK(p.skips.size() == 2);
  CHECK(p.notes ==
        std::vector<std::string>{"s.yaml:9:5: no case matches this exclusion (not here)"});
  CHECK(plan(body).notes.empty());
}

TEST_CASE("a case above the memory limit is skipped") {
  const auto body = std::string("operation: mttkrp\naxes: {dataset: cube, mode: 0, rank: 1024}\n");
  CHECK(plan(body).cases.size() == 1);
  const auto tight = plan(body + "measure: {memory: 64KiB}");
  REQUIRE(tight.skips.size() == 1);
  CHECK(contains(tight.skips.front().reason, "needs about"));
}

TEST_CASE("mistakes are refused at the spec's line with the nearest name") {
  const std::string ts = "operation: ts\naxes: {dataset: cube}";
  CHECK(contains(plan_refusal("operation: ts\naxes: {dataset: cub}"),
                 "s.yaml:5:17: found unknown data set 'cub', expected 'cube'"));
  CHECK(contains(plan_refusal("operation: ts\naxes: {dataset: lost.tns}"),
                 "found unknown data set 'lost.tns', expected a tensor file or a name that"));
  CHECK(contains(plan_refusal(ts, "[{id: t.cpu.y}]"),
                 "s.yaml:6:16: found unknown method 't.cpu.y', expected 't.cpu.x'"));
  CHECK(contains(plan_refusal(ts, "[{id: t.cpu.x, params: {thread: 1}}]"), "s.yaml:6:"));
  CHECK(contains(plan_refusal(ts, "[{id: t.cpu.x, params: {thread: 1}}]"), "'threads'"));
  CHECK(contains(plan_refusal(ts, "[{id: t.cpu.x, params: {threads: [1, 65]}}]"), "1 to 64"));
  CHECK(contains(plan_refusal(ts, "[{id: t.cpu.x, params: {update: ownr}}]"), "'owner'"));
  CHECK(contains(plan_refusal("operation: ttv\naxes: {dataset: [cube, four], mode: 5}"),
                 "5:37: found mode 5, expected 0 to 3"));
  CHECK(contains(plan_refusal("operation: contraction\naxes: {dataset: cube}"), "einsum"));
  CHECK(contains(plan_refusal(ts + "\nexclude: [{when: {dataset: cuba}, reason: r}]"), "'cube'"));
  CHECK(contains(plan_refusal(ts + "\nexclude: [{when: {params.thread: 1}, reason: r}]"),
                 "'params.threads'"));
  CHECK(contains(plan_refusal(ts + "\nexclude: [{when: {params.update: ownr}, reason: r}]"),
                 "'owner'"));
}

TEST_CASE("an expansion without bound is refused before it is made") {
  std::string many;
  for (int k = 0; k < 400; ++k) many += (k == 0 ? "" : ", ") + std::to_string(k + 1);
  const auto body = "operation: mttkrp\naxes: {dataset: cube, mode: 0, rank: [" + many +
                    "], seed: [" + many + "]}";
  CHECK(contains(plan_refusal(body), "combinations, expected at most 100000"));
}

TEST_CASE("a case survives its JSON, and its key depends on every member") {
  const auto p = plan(
      "operation: [ts, mttkrp, contraction, cpd, ttm_chain]\nvariant: \"abk,kcd->abcd\"\n"
      "axes: {dataset: four, mode: 3, rank: 5, rank2: 7, dtype: f64, values: normal, "
      "seed: 9, scalar: 3, max_sweeps: 4, tolerance: 0.01}\n"
      "measure: {order: blocked, cache: flushed}");
  for (const auto& c : p.cases) {
    const auto row = driver::to_json(c, {{"sha256", "x"}});
    CHECK(driver::to_json(case_from_json(row), row["data"]) == row);
    for (const auto& [name, value] : row.items()) {
      auto other = row;
      other[name] = "changed";
      CHECK(case_key(other) != case_key(row));
    }
  }
  CHECK_THROWS_AS(case_from_json({{"artifact", "a"}}), InputError);
}

TEST_CASE("contractions that don't fit the tensor are skips") {
  const auto p = plan(
      "operation: contraction\nvariant: [\"abk,kcd->abcd\", \"abk,abc->kc\"]\n"
      "axes: {dataset: cube}");
  REQUIRE(p.cases.size() == 1);
  CHECK(p.cases.front().problem.variant == "abk,abc->kc");
  CHECK(p.skips.size() == 1);
}
