#include "experiments/driver/run/sweep.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <set>

using namespace retensor;
using namespace retensor::driver;

namespace {

std::vector<Case> cases(Order order, int modes = 4, int methods = 3) {
  std::vector<Case> all;
  for (int mode = 0; mode < modes; ++mode)
    for (int method = 0; method < methods; ++method) {
      Case c;
      c.artifact = std::string("a/b");
      c.dataset = std::string("t");
      c.problem.mode = mode;
      c.method = fmt::format("m.cpu.v{}", method);
      c.order = order;
      all.push_back(c);
    }
  return all;
}

using Trace = std::vector<std::vector<std::pair<int, std::string>>>;

Trace trace(const std::vector<std::vector<Case>>& groups) {
  Trace result;
  for (const auto& group : groups) {
    result.emplace_back();
    for (const auto& c : group) result.back().emplace_back(c.problem.mode, c.method);
  }
  return result;
}

}  // namespace

TEST_CASE("a schedule keeps every case, one a group, the methods of a problem side by side") {
  const auto order = trace(schedule(cases(Order::shuffled), 1));
  REQUIRE(order.size() == 12);
  std::set<std::pair<int, std::string>> seen;
  for (std::size_t k = 0; k < order.size(); ++k) {
    REQUIRE(order[k].size() == 1);
    seen.insert(order[k].front());
    CHECK(order[k].front().first == order[k / 3 * 3].front().first);
  }
  CHECK(seen.size() == 12);
}

TEST_CASE("the order depends on the seed alone") {
  const auto first = trace(schedule(cases(Order::shuffled), 1));
  CHECK(trace(schedule(cases(Order::shuffled), 1)) == first);
  CHECK(trace(schedule(cases(Order::shuffled), 2)) != first);
}

TEST_CASE("rotation puts the modes of a method into one group, in their listed order") {
  const auto order = trace(schedule(cases(Order::rotation), 1));
  REQUIRE(order.size() == 3);
  for (const auto& group : order) {
    REQUIRE(group.size() == 4);
    for (int mode = 0; mode < 4; ++mode) {
      const auto& [is_mode, method] = group[static_cast<std::size_t>(mode)];
      CHECK(is_mode == mode);
      CHECK(method == group.front().second);
    }
  }
}

TEST_CASE("launches of a rotation stay apart") {
  auto twice = cases(Order::rotation, 2, 1);
  for (auto c : cases(Order::rotation, 2, 1)) {
    c.launch = 1;
    twice.push_back(c);
  }
  CHECK(schedule(twice, 1).size() == 2);
}

TEST_CASE("a launch runs every case before the next launch begins, in an order of its own") {
  for (const bool interleaved : {false, true}) {
    CAPTURE(interleaved);
    std::vector<Case> all;
    for (auto c : cases(Order::shuffled))
      for (c.launch = 0; c.launch < 3; ++c.launch) {
        c.interleaved = interleaved;
        all.push_back(c);
      }
    const auto groups = schedule(all, 1);
    REQUIRE(groups.size() == (interleaved ? 12 : 36));
    std::vector<Trace> launches(3);
    for (std::size_t k = 0; k < groups.size(); ++k) {
      const auto launch = k / (groups.size() / 3);
      for (const auto& c : groups[k]) CHECK(c.launch == static_cast<int>(launch));
      launches[launch].push_back(trace({groups[k]}).front());
    }
    CHECK(launches[0] != launches[1]);
  }
}

TEST_CASE("nothing to run is an empty schedule") {
  CHECK(schedule({}, 1).empty());
}

TEST_CASE("result files are named after the device that can be used") {
  using nlohmann::json;
  const json cpu = {{"model", "AMD EPYC 9V84 96-Core"}};
  CHECK(results_path({{"cpu", cpu}, {"gpu", {{"available", true}, {"name", "NVIDIA H200"}}}},
                     "pasta/fig4") == "out/results/nvidia-h200/pasta-fig4.jsonl");
  CHECK(results_path({{"cpu", cpu}, {"gpu", {{"available", false}}}}, "pasta/fig4") ==
        "out/results/amd-epyc-9v84-96-core/pasta-fig4.jsonl");
  CHECK(results_path({{"cpu", {{"model", "../../x"}}}}, "a/b") == "out/results/x/a-b.jsonl");
  CHECK(results_path({{"error", "the worker died"}}, "a/b") == "out/results/unknown/a-b.jsonl");
}
