// The planner: its regression, its table, its choices and how it is judged.
#include "common/advise/planner.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <set>

#include "common/advise/contraction_facts.hpp"
#include "common/advise/regret.hpp"
#include "common/advise/trial.hpp"
#include "common/core/error.hpp"
#include "common/decompose/als.hpp"
#include "common/measure/timing.hpp"

namespace retensor::advise {
namespace {

const std::vector<double> kCalls = {1, 10, 100, 1000};
constexpr Kernel kKernel{1, {2, 1, 0.1}, {0.5, 0.2, 0.1}, {0.2, 0.1, 0.1}, 0.01};

Place place(double nonzeros, std::size_t candidate) {
  Place made{{}, candidate, candidate};
  made.at.fill(0);
  made.at[5] = nonzeros;
  return made;
}

/// Two candidates whose times grow with different powers.
double power_law(double nonzeros, std::size_t candidate) {
  return candidate == 0 ? 0.3 * nonzeros : 2 + 0.1 * nonzeros;
}

struct Measured {
  std::vector<Place> places;
  std::vector<double> values;
  std::vector<int> groups;
};

Measured power_laws() {
  Measured m;
  for (int k = 0; k < 24; ++k) {
    const double nonzeros = 0.5 * (k / 2);
    const auto candidate = static_cast<std::size_t>(k % 2);
    m.places.push_back(place(nonzeros, candidate));
    m.values.push_back(power_law(nonzeros, candidate));
    m.groups.push_back(k / 4);
  }
  return m;
}

std::shared_ptr<const Coo> random_tensor(const Dims& dims, std::size_t nnz, std::uint64_t seed) {
  std::mt19937_64 draw(seed);
  std::set<std::vector<Index>> places;
  while (places.size() < nnz) {
    std::vector<Index> at;
    for (const auto length : dims) at.push_back(static_cast<Index>(draw() % length));
    places.insert(at);
  }
  Coo tensor(dims, DType::f32, nnz);
  std::size_t k = 0;
  for (const auto& at : places) {
    for (std::size_t m = 0; m < dims.size(); ++m) tensor.indices[m][k] = at[m];
    tensor.values.set(k++, 1 + static_cast<double>(draw() % 100) / 100);
  }
  return std::make_shared<const Coo>(std::move(tensor));
}

struct Asked {
  explicit Asked(Operation operation = Operation::mttkrp)
      : tensor(random_tensor({50, 40, 30}, 3000, 7)), facts(tensor_facts(*tensor)), problem([&] {
          ProblemSpec spec;
          spec.operation = operation;
          spec.rank = 8;
          return Problem(spec, tensor);
        }()) {}

  Advice advice(const Wish& wish, const char* machine = "cpu") const {
    const auto& seen = Experience::built_in();
    return advise(seen, registry, problem, facts, devices_named(seen, machine), wish, false);
  }

  Registry registry = all_methods();
  std::shared_ptr<const Coo> tensor;
  nlohmann::json facts;
  Problem problem;
};

Forecast forecast(double run, double prepare, double deviation) {
  return {0, {std::log(run), deviation}, {std::log(prepare), deviation}};
}

RegretLine total_of(const std::vector<RegretLine>& lines, double calls) {
  for (const auto& line : lines)
    if (line.operation.empty() && !line.only_real && line.calls == calls) return line;
  FAIL("no line for all problems");
  return {};
}

}  // namespace

TEST_CASE("a regression follows power laws beyond what it has seen, and says how sure it is") {
  const auto m = power_laws();
  const Regression fit(m.places, m.values, kKernel);
  for (const double nonzeros : {0.25, 2.75, 7.0})
    for (const std::size_t candidate : {0, 1})
      CHECK(fit.at(place(nonzeros, candidate)).mean ==
            doctest::Approx(power_law(nonzeros, candidate)).epsilon(0.05).scale(1));
  CHECK(fit.at(place(20, 0)).deviation > 2 * fit.at(place(2, 0)).deviation);
  CHECK(fit.at(place(2, 2)).deviation > 2 * fit.at(place(2, 0)).deviation);  // a candidate unseen
  CHECK_THROWS_AS(Regression({}, {}, kKernel), LogicError);
}

TEST_CASE("what is left out at once equals a fit without it") {
  const auto m = power_laws();
  const auto estimates = Regression(m.places, m.values, kKernel).left_out(m.groups);
  for (const int group : {0, 3, 5}) {
    Measured rest;
    for (std::size_t k = 0; k < m.places.size(); ++k)
      if (m.groups[k] != group) {
        rest.places.push_back(m.places[k]);
        rest.values.push_back(m.values[k]);
      }
    const Regression without(rest.places, rest.values, kKernel);
    for (std::size_t k = 0; k < m.places.size(); ++k) {
      if (m.groups[k] != group) continue;
      // The points have another centre, which changes the prior a little.
      CHECK(estimates[k].mean == doctest::Approx(without.at(m.places[k]).mean).epsilon(0.02));
      CHECK(estimates[k].deviation ==
            doctest::Approx(without.at(m.places[k]).deviation).epsilon(0.2));
    }
  }
}

TEST_CASE("what one value tells of another equals a fit with it") {
  const auto m = power_laws();
  const auto tried = place(9, 0), other = place(9.5, 0);
  const auto both = Regression(m.places, m.values, kKernel).at({tried, other});
  CHECK(covariance(both[0], both[1]) == doctest::Approx(covariance(both[1], both[0])));
  CHECK(covariance(both[0], both[0]) == doctest::Approx(std::pow(both[0].deviation, 2)));
  const double value = both[0].mean + 0.1;
  auto more = m;
  more.places.push_back(tried);
  more.values.push_back(value);
  const auto with = Regression(more.places, more.values, kKernel).at(other);
  const double weight = covariance(both[0], both[1]) / std::pow(both[0].deviation, 2);
  CHECK(weight > 0.1);
  // The points have another centre, which changes the prior a little.
  CHECK(both[1].mean + weight * (value - both[0].mean) == doctest::Approx(with.mean).epsilon(0.02));
  const Estimate apart{0, 0.5}, from{0, 2};
  CHECK(covariance(apart, from) == doctest::Approx(0.28));  // a usual share of the deviations
}

TEST_CASE("a candidate that is known better wins against one expected to be as fast") {
  const std::vector<Forecast> two = {forecast(1, 1, 1.5), forecast(1, 1, 0.1)};
  CHECK(best_of(two, 10, kCaution) == 1);
  CHECK(best_of({forecast(1, 100, 0.1), forecast(2, 1, 0.1)}, 1, 0) == 1);
  CHECK(best_of({forecast(1, 100, 0.1), forecast(2, 1, 0.1)}, 1000, 0) == 0);
}

TEST_CASE("close calls are tried where that pays, and a surprise calls for another") {
  const std::vector<Forecast> close = {forecast(1, 1, 0.5), forecast(1.1, 1, 0.5),
                                       forecast(50, 1, 0.5)};
  const auto places = [&](double calls, const std::vector<double>& runs,
                          const std::vector<Forecast>& list) {
    std::vector<std::size_t> tried;
    for (const auto& step : trial(list, calls, 0, [&](std::size_t k) {
           return runs[k] > 0 ? Tried{1, runs[k], ""} : Tried{0, 0, "no memory"};
         }))
      tried.push_back(step.place);
    return tried;
  };
  using Places = std::vector<std::size_t>;
  CHECK(places(1, {1, 1, 50}, close).empty());
  auto both = places(1000, {1, 1, 50}, close);
  std::sort(both.begin(), both.end());
  CHECK(both == Places{0, 1});
  const std::vector<Forecast> clear = {forecast(1, 1, 0.1), forecast(3, 1, 0.1)};
  CHECK(places(20, {1, 3}, clear).empty());
  CHECK(places(1000, {1, 3}, clear) == Places{0});  // it takes 4 seconds of 1001
  CHECK(places(1000, {30, 3}, clear) == Places{0, 1});
  CHECK(places(1000, {0, 3}, clear) == Places{0, 1});  // the first failed
  // Dear to prepare and best by a little: what is cheap to try comes first, and is left if it
  // fails.
  const std::vector<Forecast> dear = {forecast(1, 400, 0.5), forecast(1.5, 1, 0.5)};
  CHECK(best_of(dear, 1000, 0) == 0);
  CHECK(places(1000, {1, 1.2}, dear).front() == 1);
  CHECK(places(1000, {1, 9}, dear) == Places{1, 0});
  const std::vector<Step> steps = {{4, {1, 5, ""}}, {2, {9, 3, ""}}, {1, {0, 0, "no memory"}}};
  CHECK(winner_of(steps) == 1);  // both preparations are spent
  CHECK_FALSE(winner_of({steps.back()}));
}

TEST_CASE("a library is left for what is expected to be faster by more than a margin") {
  auto two = std::vector{forecast(1, 1, 0.1), forecast(1.2, 1, 0.1)};
  CHECK(best_of(two, 10, 0) == 0);
  two[1].of_library = true;
  CHECK(best_of(two, 10, 0) == 1);
  two[0] = forecast(0.5, 1, 0.1);
  CHECK(best_of(two, 10, 0) == 0);
  CHECK(is_library("cusparse.cuda"));
  CHECK_FALSE(is_library("tca_spmm.cuda"));
}

TEST_CASE("a trial of one moves what is expected of those like it") {
  // Three in a row of expected times; the first two were estimated to differ little.
  const auto joint =
      std::make_shared<const Joint>(Joint{3, {0.25, 0.24, 0, 0.24, 0.25, 0, 0, 0, 0.25}});
  std::vector<Forecast> three = {forecast(1, 1, 0.5), forecast(1.1, 1, 0.5),
                                 forecast(1.6, 60, 0.5)};
  for (std::size_t k = 0; k < three.size(); ++k)
    three[k].run.joint = joint, three[k].run.number = k;
  std::vector<std::size_t> tried;
  trial(three, 300, 0, [&](std::size_t k) {
    tried.push_back(k);
    return k < 2 ? Tried{1, 4, ""} : Tried{60, 1.5, ""};
  });
  REQUIRE(tried.size() > 1);
  CHECK(tried[0] < 2);
  CHECK(tried[1] == 2);  // the twin would be as slow
}

TEST_CASE("a trial finds out a planted misprediction, and without one it is taken") {
  const auto tensor = random_tensor({600, 500, 400}, 60000, 11);
  ProblemSpec spec;
  spec.operation = Operation::mttkrp;
  spec.rank = 16;
  const Problem problem(spec, tensor);
  const Wish wish{.calls = 1e5};
  const auto registry = all_methods();
  auto wrong = Experience::built_in();
  for (auto& t : wrong.times) {
    const auto& candidate = wrong.candidates[t.candidate];
    if (candidate.method == "pasta.cpu.coo" && candidate.params.empty()) t.run /= 1000;
  }
  auto device = devices_here(wrong).front();
  device.name = "one that was never measured";
  auto advice = advise(wrong, registry, problem, tensor_facts(*tensor), {device}, wish, true);
  REQUIRE(!advice.ranked.empty());
  REQUIRE(in_words(advice.ranked.front()) == "pasta.cpu.coo");
  Advice planted;
  planted.ranked = {advice.ranked.front()};
  REQUIRE(settle(planted, problem, wish).steps.size() == 1);
  REQUIRE(settle(advice, problem, wish).steps.size() > 1);
  const auto& winner = advice.ranked.front();
  CHECK(in_words(winner) != "pasta.cpu.coo");
  CHECK(winner.forecast.run.deviation == 0);  // measured
  CHECK(winner.forecast.run_seconds() < planted.ranked.front().forecast.run_seconds());
}

/// A method that counts its preparations.
class Counted final : public Method {
 public:
  explicit Counted(const Method& of) : of_(of) {}
  std::string_view id() const override { return of_.id(); }
  std::string_view summary() const override { return of_.summary(); }
  Backend backend() const override { return of_.backend(); }
  ParamSchema params() const override { return of_.params(); }
  bool takes_all_modes() const override { return of_.takes_all_modes(); }
  Support supports(const Problem& problem, const Params& params) const override {
    return of_.supports(problem, params);
  }
  std::unique_ptr<Prepared> prepare(const Problem& problem, const Params& params) const override {
    ++count;
    return of_.prepare(problem, params);
  }
  mutable int count = 0;

 private:
  const Method& of_;
};

TEST_CASE("what wins a trial is prepared once and runs on with factors that change") {
  const auto registry = all_methods();
  const auto tensor = random_tensor({600, 500, 400}, 60000, 11);
  ProblemSpec spec;
  spec.operation = Operation::mttkrp_all;
  const Problem problem(spec, tensor);
  const std::vector<Counted> two = {Counted(registry.find("flycoo.cpu")),
                                    Counted(registry.find("pasta.cpu.coo"))};
  Advice advice;
  for (const auto& method : two)
    advice.ranked.push_back({.method = &method, .params = "", .forecast = forecast(1, 1, 2)});
  // FLYCOO's is prepared for all modes at once, the other for each of three.
  const auto total = [&] { return two[0].count + two[1].count; };

  const Planned alone(advice, {.calls = 1e6}, false);
  CHECK(alone.prepare(problem, {}) != nullptr);
  CHECK(total() == 1);
  CHECK(alone.trial_text().empty());

  const Planned tried(advice, {.calls = 1e6}, true);
  spec.operation = Operation::cpd;
  spec.max_sweeps = 3;
  spec.tolerance = 0;
  const Problem decomposed(spec, tensor);
  cpd::Als als(decomposed, tried), named(decomposed, registry.find("pasta.cpu.coo"));
  CHECK(total() == 1 + 1 + 3);  // each of the two by the trial, and then no more
  CHECK(tried.trial_text().find("; ") != std::string::npos);
  const auto timer = make_host_timer();
  for (auto* one : {&als, &named}) one->sweep(*timer, 3);
  for (std::size_t k = 0; k < 3; ++k) CHECK(als.fit()[k] == doctest::Approx(named.fit()[k]));

  CHECK(tried.prepare(problem, {}) != nullptr);  // of another problem: no further trial
  CHECK(total() == 5 + (tried.id() == "flycoo.cpu" ? 1 : 3));
}

TEST_CASE("nothing that emulates another processor is a candidate") {
  const auto methods = all_methods();
  CHECK(methods.form("bcb_sptc.cpu").emulates);
  CHECK_FALSE(methods.form("sparta.cpu").emulates);
  for (const auto& candidate : Experience::built_in().candidates)
    CHECK_MESSAGE(!methods.form(candidate.method).emulates, candidate.method);
}

TEST_CASE("a family is what tensors of one origin share") {
  CHECK(family_of("wordnet-like@skew") == family_of("wordnet"));
  CHECK(family_of("irr2S4d") == family_of("irrM"));
  CHECK(family_of("regS4d") == family_of("regM"));
  CHECK(family_of("tca-8192-50") == family_of("tca-8192-999"));
  CHECK(family_of("nell2s") == family_of("nell1-sixteenth"));
  CHECK(family_of("dlmc-transformer-0.7-a") == family_of("tca-transformer-feed-80"));
  CHECK(family_of("wordnet") != family_of("ratings"));
  CHECK(family_of("fb15k-237") == "fb");
  CHECK(family_of("").empty());
}

TEST_CASE("the table survives being written, and a damaged one is refused") {
  const auto& seen = Experience::built_in();
  const auto text = seen.text();
  CHECK(Experience::parse(text).text() == text);
  CHECK(seen.times.size() > 3000);
  for (const auto& problem : seen.problems) CHECK(problem.tensor_bytes > 0);
  for (const char* bad :
       {"", "[]", "{\"schema\": 2}", "{\"schema\": 1}", "{\"schema\": 1, \"a\": "})
    CHECK_THROWS_AS(Experience::parse(bad), InputError);
  auto broken = seen;
  broken.times.front().candidate = broken.candidates.size();
  CHECK_THROWS_AS(Experience::parse(broken.text()), InputError);
}

TEST_CASE("choices without a tensor's family take at most 1.10 times the best, on average") {
  const auto lines = regrets(Experience::built_in(), kCalls, false);
  for (const double calls : kCalls) {
    const auto line = total_of(lines, calls);
    CAPTURE(calls);
    CHECK(line.problems > 500);
    CHECK(line.slow.size() == static_cast<std::size_t>(line.tried.above_two));
    for (const auto& slow : line.slow) {
      CHECK(slow.ratio > 2);
      CHECK(!slow.cause.empty());
    }
    CHECK(line.predicted.mean <= 1.10);
    CHECK(line.tried.mean <= 1.10);
    if (calls >= 100) CHECK(line.tried.above_two <= line.predicted.above_two);
    if (calls == 1000) CHECK(line.tried.mean < line.predicted.mean);
    CHECK(line.predicted.mean > 1.0);
  }
}

TEST_CASE("a model with a planted wrong factor misses that bar") {
  const auto& seen = Experience::built_in();
  auto wrong = seen;
  for (auto& t : wrong.times)
    if (seen.candidates[t.candidate].method.find("hicoo") != std::string::npos) t.run /= 100;
  const auto lines = regrets(seen, wrong, kCalls, false);
  CHECK(total_of(lines, 1000).predicted.mean > 1.10);
  CHECK(total_of(lines, 1000).predicted.most > 2);
}

/// The place of a nonzero among all places over some modes.
Count place_of(const Coo& tensor, const std::vector<int>& modes, Count nonzero) {
  Count place = 0;
  for (const int m : modes) {
    const auto mode = static_cast<std::size_t>(m);
    place = place * tensor.dims[mode] + tensor.indices[mode][nonzero];
  }
  return place;
}

Count places(const Coo& tensor, const std::vector<int>& modes) {
  Count count = 1;
  for (const int m : modes) count *= tensor.dims[static_cast<std::size_t>(m)];
  return count;
}

double entries_one_by_one(const Coo& x, const Coo& y, const Contraction& c) {
  std::vector<std::vector<Count>> columns(places(y, c.contracted_y));
  for (Count q = 0; q < y.nnz(); ++q)
    columns[place_of(y, c.contracted_y, q)].push_back(place_of(y, c.free_y, q));
  const Count width = places(y, c.free_y);
  std::vector<bool> found(places(x, c.free_x) * width);
  for (Count p = 0; p < x.nnz(); ++p) {
    const Count row = place_of(x, c.free_x, p) * width;
    for (const Count column : columns[place_of(x, c.contracted_x, p)]) found[row + column] = true;
  }
  return static_cast<double>(std::count(found.begin(), found.end(), true));
}

TEST_CASE("the result of a contraction is counted, or estimated where it has many products") {
  const auto check = [](const Dims& dims, std::size_t nnz, const char* einsum, double bound) {
    CAPTURE(einsum);
    const auto x = random_tensor(dims, nnz, 3), y = random_tensor(dims, nnz, 5);
    const Contraction contraction(einsum, dims, dims);
    const double expected = entries_one_by_one(*x, *y, contraction);
    CHECK(std::abs(result_entries(*x, *y, contraction) - expected) <= bound * expected);
  };
  check({30, 20, 10}, 600, "kab,kcd->abcd", 0);
  check({30, 20, 10}, 600, "kla,klb->ab", 0);
  check({30, 20, 10}, 600, "abk,cdk->abcd", 0);
  check({300, 280}, 40000, "ab,cb->ac", 0.02);   // 5.7 M products, long rows
  check({12000, 40}, 13000, "ak,bk->ab", 0.05);  // 4.2 M products, rows of one nonzero
  const auto x = random_tensor({5, 5}, 4, 1);
  const Coo none({5, 5}, DType::f32);
  CHECK(result_entries(*x, none, {"ab,bc->ac", {5, 5}, {5, 5}}) == 0);
}

/// Tiles with edge 8 of the free and of the contracted coordinates.
double tile_pairs_one_by_one(const Coo& x, const Coo& y, const Contraction& c) {
  using Tile = std::vector<Index>;
  const auto tiles = [](const Coo& tensor, const std::vector<int>& rows,
                        const std::vector<int>& columns) {
    std::set<std::pair<Tile, Tile>> found;
    for (Count p = 0; p < tensor.nnz(); ++p) {
      const auto at = [&](const std::vector<int>& modes) {
        Tile place;
        for (const int m : modes)
          place.push_back(tensor.indices[static_cast<std::size_t>(m)][p] / 8);
        return place;
      };
      found.insert({at(rows), at(columns)});
    }
    return found;
  };
  double pairs = 0;
  for (const auto& of_x : tiles(x, c.contracted_x, c.free_x))
    for (const auto& of_y : tiles(y, c.contracted_y, c.free_y))
      if (of_x.first == of_y.first) ++pairs;
  return pairs;
}

TEST_CASE("pairs of tiles of a contraction are counted") {
  for (const char* einsum : {"kab,kcd->abcd", "kla,klb->ab", "akl,bkl->ab"}) {
    CAPTURE(einsum);
    const Dims dims{40, 30, 50};
    const auto x = random_tensor(dims, 300, 3), y = random_tensor(dims, 200, 5);
    const Contraction contraction(einsum, dims, dims);
    CHECK(tile_pairs(*x, *y, contraction).of_tensors == tile_pairs_one_by_one(*x, *y, contraction));
  }
  // Every coordinate of a matrix occurs: its tiles are those of the tensor.
  const auto full = random_tensor({24, 32}, 24 * 32, 1);
  const Contraction product("ak,bk->ab", full->dims, full->dims);
  const auto pairs = tile_pairs(*full, *full, product);
  CHECK(pairs.of_tensors == 3 * 3 * 4);
  CHECK(pairs.of_matrices == pairs.of_tensors);
  // Rows 0, 100, 200, ... are numbered 0, 1, 2, ...: one row of tiles in place of eight.
  Coo far({800, 8}, DType::f32, 64);
  for (Count p = 0; p < 64; ++p)
    far.indices[0][p] = static_cast<Index>(p / 8 * 100),
    far.indices[1][p] = static_cast<Index>(p % 8);
  const auto of_far = tile_pairs(far, far, {"ak,bk->ab", far.dims, far.dims});
  CHECK(of_far.of_tensors == 64);
  CHECK(of_far.of_matrices == 1);
}

TEST_CASE("aspects of a contraction tell its result") {
  const auto tensor = random_tensor({30, 20, 10}, 600, 3);
  ProblemSpec spec;
  spec.operation = Operation::contraction;
  spec.variant = "kab,kcd->abcd";
  const auto subject = subject_of(Problem(spec, tensor), tensor_facts(*tensor));
  const Contraction contraction(spec.variant, tensor->dims, tensor->dims);
  CHECK(subject.entries == entries_one_by_one(*tensor, *tensor, contraction));
  const Device device{"", Backend::cpu, 2, 10, 100, 1 << 20};
  const auto at = aspects_of(subject, device);
  CHECK(at[19] == doctest::Approx(std::log(subject.work.flops / 2 / subject.entries)));
  CHECK(floor_seconds(subject, device) > 5e-6 + subject.entries * 20 / 10e9);
}

TEST_CASE("aspects tell what a problem looks like") {
  const Asked asked;
  const auto at =
      aspects_of(subject_of(asked.problem, asked.facts), {"", Backend::cpu, 2, 10, 100, 1 << 20});
  CHECK(at[3] == 3);
  CHECK(at[4] == doctest::Approx(std::log(8.0)));
  CHECK(at[5] == doctest::Approx(std::log(3000.0)));
  CHECK(at[16] == doctest::Approx(std::log(3000.0 / (50 * 40 * 30))));
  CHECK(at[22] == 1);  // sorted, by mode 0 first
  CHECK(at[23] == 0);
  CHECK(at[0] >= at[1]);
  CHECK_THROWS_AS(subject_of(asked.problem, nlohmann::json{{"fibers", {1, 2}}}), InputError);
}

TEST_CASE("advice lists what solves the problem within the limits, fastest first") {
  const Asked asked;
  const auto all = asked.advice({.calls = 100});
  REQUIRE(all.ranked.size() > 2);
  for (std::size_t k = 1; k < all.ranked.size(); ++k)
    CHECK(all.ranked[k - 1].forecast.total(100, all.caution) <=
          all.ranked[k].forecast.total(100, all.caution));
  CHECK(std::count(all.why.begin(), all.why.end(), '\n') == 1);
  // The tensor has a hundredth of the nonzeros of the smallest one measured.
  CHECK(all.outside.size() > 0);

  const auto little = asked.advice({.calls = 100, .memory = 1});
  CHECK(little.ranked.size() < all.ranked.size());
  const auto rough = asked.advice({.calls = 100, .error = 0.1}, "H200");
  const auto exact = asked.advice({.calls = 100}, "H200");
  CHECK(rough.ranked.size() > exact.ranked.size());
  for (const auto& choice : exact.ranked) CHECK(choice.error < 1e-3);
  CHECK(asked.advice({.calls = 100, .error = 1e-12}).ranked.empty());
}

TEST_CASE("over all modes a method for single modes is expected to take their times in sum") {
  const Asked all(Operation::mttkrp_all), one(Operation::mttkrp);
  const auto of = [](const Advice& advice, bool takes_all) {
    return std::find_if(advice.ranked.begin(), advice.ranked.end(), [&](const Choice& choice) {
      return choice.method->takes_all_modes() == takes_all;
    });
  };
  const auto advice = all.advice({.calls = 100}), single = one.advice({.calls = 100});
  CHECK(of(advice, true) != advice.ranked.end());
  const auto found = of(advice, false);
  REQUIRE(found != advice.ranked.end());
  const auto same = std::find_if(single.ranked.begin(), single.ranked.end(),
                                 [&](const Choice& c) { return in_words(c) == in_words(*found); });
  REQUIRE(same != single.ranked.end());
  CHECK(found->forecast.run_seconds() > 1.5 * same->forecast.run_seconds());
}

TEST_CASE("a method is chosen that runs here, and a trial measures it") {
  const Asked asked;
  const auto choice = choose(asked.registry, asked.problem, asked.facts, {.calls = 1000});
  CHECK(choice.method->runs_here().ok);
  const auto other = choose(asked.registry, asked.problem, asked.facts, {.calls = 1000},
                            [&](const Method& method) { return &method != choice.method; });
  CHECK(other.method != choice.method);
  CHECK_THROWS_AS(choose(asked.registry, asked.problem, asked.facts, {.calls = 1000},
                         [](const Method&) { return false; }),
                  InputError);
  auto advice = asked.advice({.calls = 1e6});
  const auto tried = settle(advice, asked.problem, {.calls = 1e6});
  REQUIRE(!tried.steps.empty());
  CHECK(tried.winner != nullptr);
  CHECK(advice.ranked.front().forecast.run.deviation == 0);  // measured
  const auto settled = choose_by_trial(asked.registry, asked.problem, asked.facts, {.calls = 1e6});
  CHECK(settled.trial.find("s a run") != std::string::npos);
  CHECK(settled.seconds > 0);
  CHECK(choose_by_trial(asked.registry, asked.problem, asked.facts, {.calls = 1}).trial.empty());
  CHECK_THROWS_AS(devices_named(Experience::built_in(), "abacus"), InputError);
}

TEST_CASE("several machines are told apart, each by its own rows, and reasons stand once") {
  const Asked asked;
  const auto& seen = Experience::built_in();
  REQUIRE(devices_named(seen, "cpu").size() > 1);
  const auto advice = asked.advice({});
  REQUIRE(has_several_machines(advice));
  CHECK(advice.why.find(" on " + advice.ranked.front().machine) != std::string::npos);
  CHECK(advice.why.find("no rows of this") == std::string::npos);
  std::set<std::vector<std::string>> told;
  for (const auto& c : advice.ranked)
    CHECK(told.insert({std::string(c.method->id()), c.params, c.machine}).second);
  const std::set<std::string> reasons(advice.outside.begin(), advice.outside.end());
  CHECK(reasons.size() == advice.outside.size());
  CHECK(!has_several_machines(asked.advice({}, "H200")));
}

}  // namespace retensor::advise
