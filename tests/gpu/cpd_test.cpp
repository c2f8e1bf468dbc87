// Sweeps of CP-ALS on the device beside those of the host.
#include <doctest/doctest.h>

#include <cmath>
#include <memory>
#include <string>

#include "common/decompose/als.hpp"
#include "common/device/device.hpp"
#include "common/generate/generators.hpp"
#include "common/measure/timing.hpp"
#include "common/method/registry.hpp"
#include "tests/support/exact_models.hpp"

using namespace retensor;
using cpd::Als;
using cpd::Place;
using retensor::testing::check_exact_tensors_are_fitted;
using retensor::testing::check_fits_do_not_fall;
using retensor::testing::cpd_spec;

namespace {

const Registry& registry() {
  static const Registry all = all_methods();
  return all;
}

Problem problem_of(const Dims& dims, std::uint64_t rank, DType dtype, int sweeps = 4,
                   ValueModel operands = ValueModel::normal) {
  ProblemSpec spec = cpd_spec(rank, sweeps, -1, dtype);
  spec.operands = operands;
  return {spec, std::make_shared<const Coo>(uniform(dims, 8000, 1, dtype))};
}

double distance(const Matrix& a, const Matrix& b) {
  double most = 0;
  for (std::uint64_t i = 0; i < a.rows(); ++i)
    for (std::uint64_t r = 0; r < a.cols(); ++r)
      most = std::max(most, std::abs(a.at(i, r) - b.at(i, r)));
  return most;
}

void check_same(const KruskalModel& device, const KruskalModel& host, double bound) {
  REQUIRE(device.fit.size() == host.fit.size());
  for (std::size_t s = 0; s < host.fit.size(); ++s)
    CHECK(std::abs(device.fit[s] - host.fit[s]) < bound);
  for (std::size_t r = 0; r < host.weights.size(); ++r)
    CHECK(std::abs(device.weights[r] - host.weights[r]) < bound * (1 + host.weights[r]));
  for (std::size_t m = 0; m < host.factors.size(); ++m)
    CHECK(distance(device.factors[m], host.factors[m]) < bound);
}

/// Sweeps to the end, `at_once` without a look between them.
KruskalModel swept(Als& als, std::size_t at_once = 1) {
  const auto timer = device::make_event_timer();
  while (!als.finished()) als.sweep(*timer, at_once);
  return als.model();
}

void check_beside_host(const std::string& id, const Problem& problem, double bound) {
  CAPTURE(id);
  CAPTURE(problem.rank());
  Als device(problem, registry().find(id), {}, Place::device);
  REQUIRE(device.place() == Place::device);
  Als host(problem, registry().find("pasta.cpu.coo"));
  REQUIRE(host.place() == Place::host);
  check_same(swept(device), swept(host), bound);
}

void check_descent(const std::string& id, const Problem& problem, double bound) {
  CAPTURE(id);
  CAPTURE(problem.rank());
  constexpr auto kNonnegative = cpd::Constraint::nonnegative;
  Als device(problem, registry().find(id), {}, Place::device, kNonnegative);
  REQUIRE(device.place() == Place::device);
  Als host(problem, registry().find("pasta.cpu.coo"), {}, Place::host, kNonnegative);
  for (int turn = 0; turn < 2; ++turn) {
    const KruskalModel model = swept(device);
    check_same(model, swept(host), bound);
    for (const Matrix& factor : model.factors)
      for (std::uint64_t i = 0; i < factor.rows(); ++i)
        for (std::uint64_t r = 0; r < factor.cols(); ++r) CHECK(factor.at(i, r) >= 0);
    // Goes on from a model with weights, in other sweeps than those that made it.
    if (turn == 0) device.restart(), host.restart();
    const auto timer = device::make_event_timer();
    device.sweep(*timer);
    host.sweep(*timer);
    const KruskalModel cut = host.model();
    device.resume(cut);
    host.resume(cut);
  }
}

/// Components 0 and 1 coincide, 3 is zero.
void check_singular(std::uint64_t rank) {
  const Problem problem = problem_of({300, 200, 250}, rank, DType::f64, 2);
  Als device(problem, registry().find("flycoo.cuda.copies"));
  Als host(problem, registry().find("pasta.cpu.coo"));
  KruskalModel start = device.model();
  for (Matrix& factor : start.factors)
    for (std::uint64_t i = 0; i < factor.rows(); ++i) {
      factor.set(i, 1, factor.at(i, 0));
      factor.set(i, 3, 0);
    }
  device.resume(start);
  host.resume(start);
  const KruskalModel model = swept(device);
  check_same(model, swept(host), 1e-7);
  CHECK(model.weights[3] == 0);
  CHECK(model.factors[0].at(3, 3) == 0);
  CHECK(model.weights[0] > 0);
}

}  // namespace

TEST_CASE("sweeps on the device give what those of the host give") {
  for (const auto dtype : {DType::f32, DType::f64})
    for (const std::uint64_t rank : {1, 7, 16, 18, 32, 33, 100, 130})
      check_beside_host("flycoo.cuda.copies", problem_of({300, 200, 250}, rank, dtype),
                        dtype == DType::f64 ? 1e-9 : 2e-4);
}

TEST_CASE("a small tensor in chunks of columns") {
  for (const auto dtype : {DType::f32, DType::f64})
    for (const std::uint64_t rank : {3, 20, 40})
      check_beside_host("flycoo.cuda.copies", problem_of({60, 50, 40}, rank, dtype, 2),
                        dtype == DType::f64 ? 1e-8 : 1e-3);
}

TEST_CASE("with every method whose runs lend their memory, in any order") {
  for (const char* id :
       {"flycoo.cuda", "flycoo.cuda.tuned", "flycoo.cuda.copies", "blco.cuda", "mm_csf.cuda"}) {
    check_beside_host(id, problem_of({300, 40, 250}, 8, DType::f64), 1e-9);
    check_beside_host(id, problem_of({60, 40, 5, 50}, 8, DType::f64), 1e-9);
  }
  check_beside_host("flycoo.cuda.copies", problem_of({900, 700}, 8, DType::f64), 1e-9);
}

TEST_CASE("more rows than thread blocks take at once") {
  const Problem problem = problem_of({200000, 3, 90000}, 20, DType::f64, 2);
  check_beside_host("flycoo.cuda.copies", problem, 1e-8);
}

TEST_CASE("components that coincide are solved, and a column that vanishes stays zero") {
  check_singular(5);
}

TEST_CASE("exact tensors are fitted with more components than their rank") {
  for (const DType dtype : {DType::f32, DType::f64}) {
    CAPTURE(dtype);
    const auto timer = device::make_event_timer();
    const Method& mttkrp = registry().find("flycoo.cuda.copies");
    // V^+ is rounded to the type of the factors.
    check_exact_tensors_are_fitted(mttkrp, *timer, dtype, dtype == DType::f64 ? 0.99 : 0.95);
    check_fits_do_not_fall(mttkrp, *timer, dtype);
  }
}

TEST_CASE("the same of more components than shared memory holds") {
  check_singular(120);
}

TEST_CASE("a run begins anew after any number of sweeps, and goes on from its model") {
  for (const char* id : {"flycoo.cuda.tuned", "blco.cuda"}) {
    const Problem problem = problem_of({300, 200, 250}, 12, DType::f64, 5);
    Als als(problem, registry().find(id), {}, Place::device);
    const KruskalModel whole = swept(als);
    als.restart();
    CHECK(als.model().fit.empty());
    CHECK(als.model().weights[0] == 0);
    check_same(swept(als, 5), whole, 1e-9);
    als.restart();
    const auto timer = device::make_event_timer();
    als.sweep(*timer);
    const KruskalModel cut = als.model();
    Als later(problem, registry().find(id));
    later.resume(cut);
    check_same(swept(later, 2), whole, 1e-9);
    CHECK(std::abs(later.true_fit() - whole.fit.back()) < 1e-10);
  }
}

TEST_CASE("a start of a small tensor that follows the data") {
  for (const char* id : {"flycoo.cuda.tuned", "flycoo.cuda.copies"})
    for (const std::uint64_t rank : {5, 40}) {
      const Problem problem = problem_of({60, 50, 45}, rank, DType::f64, 3);
      Als device(problem, registry().find(id));
      Als host(problem, registry().find("pasta.cpu.coo"));
      const auto timer = device::make_event_timer();
      for (int turn = 0; turn < 2; ++turn) {
        device.restart();
        device.spread(*timer);
        host.restart();
        host.spread(*timer);
        CHECK(device.model().weights[0] == 0);
        check_same(device.model(), host.model(), 1e-9);
        check_same(swept(device), swept(host), 1e-8);
      }
    }
}

TEST_CASE("non-negative factors of a small tensor descend as those of the host do") {
  constexpr auto kUniform = ValueModel::uniform;
  for (const std::uint64_t rank : {1, 7, 32, 40})
    check_descent("flycoo.cuda.copies", problem_of({60, 50, 45}, rank, DType::f64, 5, kUniform),
                  1e-8);
  check_descent("flycoo.cuda.copies", problem_of({60, 50, 45}, 9, DType::f32, 5, kUniform), 1e-3);
  for (const char* id : {"flycoo.cuda", "flycoo.cuda.tuned", "blco.cuda", "mm_csf.cuda"})
    check_descent(id, problem_of({60, 40, 5, 50}, 8, DType::f64, 5, kUniform), 1e-8);
}

TEST_CASE("non-negative factors of more rows and components than a thread block has") {
  check_descent("flycoo.cuda.copies",
                problem_of({20000, 3, 9000}, 130, DType::f64, 2, ValueModel::uniform), 1e-8);
  const Problem many = problem_of({20, 30, 25}, 257, DType::f64, 1, ValueModel::uniform);
  const Als als(many, registry().find("flycoo.cuda.copies"), {}, Place::device,
                cpd::Constraint::nonnegative);
  CHECK(als.place() == Place::host);
}

TEST_CASE("first factors of a small tensor are drawn on the device with the host's bits") {
  for (const auto dtype : {DType::f32, DType::f64})
    for (const auto law : {cpd::Start::signs, cpd::Start::uniform, cpd::Start::normal}) {
      CAPTURE(cpd::name(law));
      const Problem problem = problem_of({60, 50, 45}, 7, dtype, 3);
      const Method& method = registry().find("flycoo.cuda.copies");
      Als drawn(problem, method), given(problem, method);
      drawn.restart(law, 5);
      given.restart(cpd::first_factors(law, problem.x(), 7, 5));
      check_same(swept(drawn), swept(given), 1e-300);
    }
}

TEST_CASE("methods that keep their factors to themselves take the sweeps of the host") {
  const Problem problem = problem_of({300, 200, 250}, 12, DType::f64);
  Als als(problem, registry().find("parti.cuda"), {}, Place::device);
  CHECK(als.place() == Place::host);
  Als host(problem, registry().find("pasta.cpu.coo"));
  check_same(swept(als), swept(host), 1e-9);
  Als asked(problem, registry().find("flycoo.cuda.tuned"), {}, Place::host);
  CHECK(asked.place() == Place::host);
  check_same(swept(asked), swept(host), 1e-9);
}
