// pasta.cuda.sliced against the oracle: ranks of every number of lanes, fibers in several pieces.
#include <doctest/doctest.h>

#include <cstdint>
#include <memory>

#include "common/device/device.hpp"
#include "common/generate/generators.hpp"
#include "common/method/registry.hpp"

using namespace retensor;

namespace {

/// The second of two runs.
void check(const Coo& tensor, Operation operation, int mode, std::uint64_t rank,
           std::int64_t ahead) {
  static const Registry registry = all_methods();
  const Method& method = registry.find("pasta.cuda.sliced");
  const Params params = method.params().resolve({{"ahead", ahead}});
  ProblemSpec spec;
  spec.operation = operation, spec.mode = mode, spec.rank = rank;
  const Problem problem(spec, std::make_shared<Coo>(tensor));
  REQUIRE(method.supports(problem, params).ok);
  const auto prepared = method.prepare(problem, params);
  const auto timer = device::make_event_timer();
  for (const bool is_last : {false, true}) {
    timer->start(), prepared->run(*timer), timer->stop();
    if (!is_last) continue;
    const auto report =
        problem.oracle().check(prepared->result(), reference::Precision::of(DType::f32));
    CHECK_MESSAGE(report.ok, "mode " << mode << ", rank " << rank << ": " << report.reason);
  }
}

void check_modes(const Coo& tensor) {
  for (const std::int64_t ahead : {1, 2})
    for (int mode = 0; mode < tensor.order(); ++mode) {
      for (const std::uint64_t rank : {1, 5, 8, 16, 20, 32, 50})
        check(tensor, Operation::ttm, mode, rank, ahead);
      check(tensor, Operation::ttv, mode, 1, ahead);
    }
}

}  // namespace

TEST_CASE("TTM and TTV of each mode with every number of lanes") {
  check_modes(uniform({60, 50, 40}, 20000, 5, DType::f32));
  check_modes(uniform({9, 8, 7, 6}, 900, 5, DType::f32));
}

TEST_CASE("fibers of several pieces, and a mode of which few columns fit") {
  check_modes(uniform({4, 3000}, 9000, 5, DType::f32));
}

TEST_CASE("a tensor without nonzeros") {
  check_modes(Coo({5, 4, 3}, DType::f32));
}
