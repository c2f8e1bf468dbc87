// HLSTO's methods on the device beyond the contract battery: the threshold of the cost model.
#include <doctest/doctest.h>

#include <memory>
#include <string>

#include "common/core/error.hpp"
#include "common/device/device.hpp"
#include "common/generate/generators.hpp"
#include "common/method/registry.hpp"
#include "papers/hlsto/methods/cost_model.hpp"

using namespace retensor;

namespace {

Problem problem_of(Operation operation, const std::shared_ptr<const Coo>& x) {
  ProblemSpec spec;
  spec.operation = operation;
  spec.rank = spec.rank2 = 16;
  return {spec, x};
}

}  // namespace

TEST_CASE("a run with the cost model's threshold is right and tells the threshold") {
  const auto x = std::make_shared<const Coo>(uniform({64, 48, 64}, 8000, 1, DType::f32));
  const Registry registry = all_methods();
  const auto check = [&](const char* id, Operation operation) {
    const Method& method = registry.find(id);
    const Problem problem = problem_of(operation, x);
    const auto params = method.params().resolve({{"threshold", hlsto::kByModel}});
    const auto prepared = method.prepare(problem, params);
    const auto timer = device::make_event_timer();
    timer->start();
    prepared->run(*timer);
    timer->stop();
    const auto report =
        problem.oracle().check(prepared->result(), method.precision(problem, params));
    CHECK_MESSAGE(report.ok, report.reason);
    const int threshold = std::stoi(prepared->executed().at("threshold"));
    CHECK(threshold >= 1);
    CHECK(threshold <= hlsto::kMostThreshold);
  };
  check("hlsto.cuda", Operation::mttkrp);
  check("hlsto.cuda", Operation::ttm_chain);
  check("hlsto.cuda.tuned", Operation::mttkrp);
  check("hlsto.cuda.khatri_rao", Operation::mttkrp);
}
