#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "common/core/error.hpp"
#include "common/core/stage_log.hpp"
#include "common/measure/timing.hpp"
#include "tests/support/planted_method.hpp"

using namespace retensor;
using test::Fault;
using test::PlantedMethod;

namespace {

Problem problem() {
  auto x = std::make_shared<Coo>(Dims{3, 4, 5}, DType::f32, 3);
  x->indices = {{0, 1, 2}, {3, 1, 1}, {0, 4, 2}};
  for (Count i = 0; i < 3; ++i) x->values.set(i, 1.0 + static_cast<double>(i));
  ProblemSpec spec;
  spec.rank = 4;
  return {spec, x};
}

Measurement measured(Fault fault, TimingOptions options = {}) {
  const PlantedMethod method(fault);
  const Problem p = problem();
  const Trial trial{&method, &p, {}};
  return measure({&trial, 1}, options).front();
}

/// Notes its name at every run.
class Scribe final : public Method {
 public:
  Scribe(std::string name, std::string& log) : name_(std::move(name)), log_(log) {}
  std::string_view id() const override { return name_; }
  std::string_view summary() const override { return "notes its runs"; }
  Backend backend() const override { return Backend::cpu; }
  Support supports(const Problem&, const Params&) const override { return Support::yes(); }
  std::unique_ptr<Prepared> prepare(const Problem& p, const Params&) const override;

  const std::string name_;
  std::string& log_;
};

class ScribeRun final : public Prepared {
 public:
  ScribeRun(const Problem& p, const Scribe& scribe) : inner_(p, Fault::none), scribe_(scribe) {}
  void run(StageTimer& timer) override {
    scribe_.log_ += scribe_.name_;
    inner_.run(timer);
  }
  Result result() override { return inner_.result(); }
  Executed executed() const override { return inner_.executed(); }
  Footprint footprint() const override { return inner_.footprint(); }
  Work work() const override { return inner_.work(); }

 private:
  test::PlantedRun inner_;
  const Scribe& scribe_;
};

std::unique_ptr<Prepared> Scribe::prepare(const Problem& p, const Params&) const {
  return std::make_unique<ScribeRun>(p, *this);
}

std::string order_of_runs(Order order, std::uint64_t seed = 1) {
  std::string log;
  const Scribe a("a", log), b("b", log), c("c", log);
  const Problem p = problem();
  const std::vector<Trial> trials = {{&a, &p, {}}, {&b, &p, {}}, {&c, &p, {}}};
  TimingOptions options;
  options.order = order;
  options.warmup = 1;
  options.samples = 4;
  options.seed = seed;
  for (const auto& m : measure(trials, options)) CHECK(m.samples.size() == 4);
  return log;
}

}  // namespace

TEST_CASE("a method for single modes solves all modes one after the other") {
  auto spec = problem().spec();
  spec.operation = Operation::mttkrp_all;
  const Problem all(spec, std::make_shared<Coo>(problem().x()));
  const auto status = [&](Fault fault) {
    const PlantedMethod method(fault);
    const Trial trial{&method, &all, {}};
    return measure({&trial, 1}, {}).front();
  };
  const Measurement good = status(Fault::none);
  CHECK_MESSAGE(good.status == "ok", good.reason);
  CHECK(good.executed.at("modes") == "3 runs, each prepared for its mode");
  REQUIRE(good.stages.front().size() == 2);
  CHECK(good.stages.front().front().first == "zero");
  CHECK(status(Fault::drops_last).status == "wrong");
  CHECK(status(Fault::accumulates).status == "wrong");
  CHECK(status(Fault::unsupported).reason == "planted");
}

TEST_CASE("a right method is ok with samples, stages and facts") {
  const auto m = measured(Fault::none);
  CHECK(m.status == "ok");
  CHECK(m.reason.empty());
  CHECK(m.samples.size() == 5);
  REQUIRE(m.stages.size() == 5);
  REQUIRE(m.stages[0].size() == 2);
  CHECK(m.stages[0][0].first == "zero");
  CHECK(m.stages[0][1].first == "kernel");
  CHECK(m.samples[0] == doctest::Approx(m.stages[0][0].second + m.stages[0][1].second));
  CHECK(m.samples[0] > 0);
  CHECK(m.check.ok);
  CHECK(m.check.entries == 12);
  CHECK(m.executed.at("kernel") == "planted");
  CHECK(m.footprint.format_bytes == 48);
  CHECK(m.work.flops == 3 * 3 * 4);
  CHECK(m.prepare_seconds > 0);
  CHECK(m.clock_drift >= 0);
  CHECK(m.clock_drift < 1);
}

TEST_CASE("each fault ends in its status with a reason and without samples") {
  const std::pair<Fault, const char*> cases[] = {
      {Fault::drops_last, "wrong"},       {Fault::swaps_modes, "wrong"},
      {Fault::accumulates, "wrong"},      {Fault::throws, "failed"},
      {Fault::throws_foreign, "failed"},  {Fault::wrong_kind, "failed"},
      {Fault::out_of_memory, "oom"},      {Fault::bad_alloc, "oom"},
      {Fault::unsupported, "unsupported"}};
  for (const auto& [fault, status] : cases) {
    const auto m = measured(fault);
    CHECK(m.status == status);
    CHECK_FALSE(m.reason.empty());
    CHECK(m.samples.empty());
    CHECK(m.stages.empty());
  }
}

TEST_CASE("an output that accumulates passes the first check and fails the second") {
  const auto m = measured(Fault::accumulates);
  CHECK_FALSE(m.check.ok);
  CHECK(m.check.error_over_bound > 1);
  CHECK(m.reason.rfind("last run:", 0) == 0);
  CHECK(measured(Fault::drops_last).reason.rfind("first run:", 0) == 0);
}

TEST_CASE("a failing trial does not disturb the others") {
  const PlantedMethod good(Fault::none), bad(Fault::throws), large(Fault::out_of_memory);
  const Problem p = problem();
  const std::vector<Trial> trials = {{&bad, &p, {}}, {&good, &p, {}}, {&large, &p, {}}};
  for (const auto order : {Order::shuffled, Order::rotation, Order::blocked}) {
    TimingOptions options;
    options.order = order;
    const auto all = measure(trials, options);
    CHECK(all[0].status == "failed");
    CHECK(all[1].status == "ok");
    CHECK(all[1].samples.size() == 5);
    CHECK(all[2].status == "oom");
  }
}

TEST_CASE("the order of runs is what the option says") {
  CHECK(order_of_runs(Order::rotation) ==
        "abc"
        "abc"
        "abcabcabcabc");
  CHECK(order_of_runs(Order::blocked) ==
        "a"
        "a"
        "aaaa"
        "b"
        "b"
        "bbbb"
        "c"
        "c"
        "cccc");
  const auto shuffled = order_of_runs(Order::shuffled);
  CHECK(shuffled.size() == 18);
  for (std::size_t round = 0; round < 18; round += 3) {
    auto part = shuffled.substr(round, 3);
    std::sort(part.begin(), part.end());
    CHECK(part == "abc");
  }
  CHECK(shuffled.substr(3) != "abcabcabcabcabc");
  CHECK(shuffled == order_of_runs(Order::shuffled));
  CHECK(shuffled != order_of_runs(Order::shuffled, 2));
}

TEST_CASE("a flushed cache still yields right results") {
  TimingOptions options;
  options.cache = Cache::flushed;
  options.samples = 2;
  const auto m = measured(Fault::none, options);
  CHECK(m.status == "ok");
  CHECK(m.samples.size() == 2);
}

TEST_CASE("misuse of the loop is a program error") {
  TimingOptions options;
  options.samples = 0;
  CHECK_THROWS_AS(measured(Fault::none, options), LogicError);
  const Trial nothing;
  CHECK_THROWS_AS(measure({&nothing, 1}, {}), LogicError);
  CHECK(measure({}, {}).empty());
}

TEST_CASE("the host's timer sums stages by name in order of first appearance") {
  const auto timer = make_host_timer();
  const auto pause = [] { std::this_thread::sleep_for(std::chrono::milliseconds(5)); };
  timer->start();
  pause();
  timer->stage("zero");
  pause();
  timer->stage("kernel");
  timer->stage("zero");
  pause();
  auto stages = timer->stop();
  REQUIRE(stages.size() == 2);
  CHECK(stages[0].first == "zero");
  CHECK(stages[0].second >= 0.015);
  CHECK(stages[1].first == "kernel");
  CHECK(stages[1].second < stages[0].second);
  timer->start();
  stages = timer->stop();
  REQUIRE(stages.size() == 1);
  CHECK(stages[0].first == "kernel");
  CHECK(timer->stream() == nullptr);
}

TEST_CASE("a stage log refuses what it can't hold") {
  StageLog log;
  for (std::size_t k = 0; k < StageLog::kCapacity; ++k) log.add("stage");
  CHECK_THROWS_AS(log.add("one more"), LogicError);
  log.clear();
  CHECK_THROWS_AS(log.add(std::string(StageLog::kLongestName + 1, 'x')), LogicError);
  log.add(std::string(StageLog::kLongestName, 'x'));
  CHECK(log.collect([](std::size_t) { return 1.0; }).size() == 1);
}
