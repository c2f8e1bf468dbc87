// FLYCOO on the device: row ownership, the finding of a second owner, and equal bits in every run.
#include <doctest/doctest.h>

#include <algorithm>
#include <memory>
#include <string>

#include "common/core/error.hpp"
#include "common/core/rng.hpp"
#include "common/device/device.hpp"
#include "common/method/registry.hpp"
#include "papers/flycoo/kernels/prepare_cuda.hpp"

using namespace retensor;

namespace {

/// Half of the nonzeros lie in one row of each mode.
Problem hot_rows() {
  const Dims dims{300, 200, 100};
  auto x = std::make_shared<Coo>(dims, DType::f32, 20000);
  const CounterRng rng(3);
  for (Count p = 0; p < x->nnz(); ++p) {
    for (std::size_t m = 0; m < 3; ++m)
      x->indices[m][p] =
          rng.bits(8 * p + m) % 2 == 0 ? 7 : static_cast<Index>(rng.below(8 * p + m + 4, dims[m]));
    x->values.set(p, rng.uniform(8 * p + 7));
  }
  ProblemSpec spec;
  spec.operation = Operation::mttkrp_all;
  spec.rank = 32;
  return {spec, x};
}

Result after_one_run(Prepared& prepared) {
  const auto timer = device::make_event_timer();
  timer->start();
  prepared.run(*timer);
  timer->stop();
  return prepared.result();
}

bool same_bits(const Result& first, const Result& second) {
  const auto a = std::get<Matrix>(first).view<float>(), b = std::get<Matrix>(second).view<float>();
  return std::equal(a.data, a.data + a.rows * a.ld, b.data, b.data + b.rows * b.ld);
}

}  // namespace

TEST_CASE("one thread block writes each output row, and a second one is found") {
  const Problem problem = hot_rows();
  const Registry registry = all_methods();
  const auto params = registry.find("flycoo.cuda").params().resolve({{"tag_owners", true}});
  flycoo::Flycoo tensor = flycoo::to_flycoo(problem.x(), {.kappa = 8});
  const auto good = flycoo::prepare_with_tensor(problem, params, tensor);
  const auto report =
      problem.oracle().check(after_one_run(*good), reference::Precision::of(DType::f32));
  CHECK_MESSAGE(report.ok, report.reason);
  // The first partition of mode 1 holds the hot row; half of it goes to the second.
  tensor.modes[1].start[1] /= 2;
  const auto planted = flycoo::prepare_with_tensor(problem, params, tensor);
  CHECK_THROWS_WITH_AS(after_one_run(*planted), "two thread blocks wrote row 7 of an output",
                       LogicError);
}

TEST_CASE("runs of one kernel with more and less shared memory take turns") {
  const Problem problem = hot_rows();
  const Registry registry = all_methods();
  for (const char* id : {"flycoo.cuda.tuned", "flycoo.cuda.copies", "flycoo.cuda.wide"}) {
    const Method& method = registry.find(id);
    const auto with_walkers = [&](std::int64_t walkers) {
      return method.prepare(problem, method.params().resolve({{"walkers", walkers}}));
    };
    const auto precision = method.precision(problem, method.params().resolve({}));
    const auto many = with_walkers(512), few = with_walkers(64);
    for (auto* const prepared : {many.get(), few.get(), many.get()}) {
      const auto report = problem.oracle().check(after_one_run(*prepared), precision);
      CHECK_MESSAGE(report.ok, id, ": ", report.reason);
    }
  }
}

TEST_CASE("the tuned kernels give the same bits in every run") {
  const Problem problem = hot_rows();
  const Registry registry = all_methods();
  for (const char* id : {"flycoo.cuda.tuned", "flycoo.cuda.copies"}) {
    const Method& method = registry.find(id);
    const auto prepared = method.prepare(problem, method.params().resolve({{"tile", 8}}));
    const Result first = after_one_run(*prepared);
    CHECK_MESSAGE(same_bits(first, after_one_run(*prepared)), id);
  }
}

TEST_CASE("prepared on the device or on the host: the row says where, and the result is right") {
  const Problem problem = hot_rows();
  const Registry registry = all_methods();
  for (const char* id : {"flycoo.cuda.tuned", "flycoo.cuda.copies", "flycoo.cuda"})
    for (const std::string where : {"device", "host"}) {
      const Method& method = registry.find(id);
      const auto prepared = method.prepare(problem, method.params().resolve({{"prepare", where}}));
      const Executed facts = prepared->executed();
      CHECK(facts.at("prepared") == "on the " + where);
      CHECK((facts.count("prepare_device_ms") == 1) == (where == "device"));
      if (where == "device") CHECK(std::stod(facts.at("prepare_device_ms")) > 0);
      const auto report =
          problem.oracle().check(after_one_run(*prepared), reference::Precision::of(DType::f32));
      CHECK_MESSAGE(report.ok, report.reason);
    }
}
