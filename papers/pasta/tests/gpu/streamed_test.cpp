// pasta.cuda.streamed with buffers so small that a tensor passes them in many parts: every
// operation against the oracle, run after run, and what it holds on the device.
#include <doctest/doctest.h>

#include <cstdint>
#include <memory>
#include <string>

#include "common/device/device.hpp"
#include "common/generate/generators.hpp"
#include "common/method/registry.hpp"

using namespace retensor;

namespace {

constexpr Count kMebibyte = 1 << 20;

void run(Prepared& prepared) {
  const auto timer = device::make_event_timer();
  timer->start();
  prepared.run(*timer);
  timer->stop();
}

void check_streamed(const Coo& tensor, Operation operation, int mode, DType type, Count parts) {
  static const Registry registry = all_methods();
  const Method& method = registry.find("pasta.cuda.streamed");
  auto x = std::make_shared<Coo>(tensor);
  x->values = tensor.values.cast(type);
  ProblemSpec spec;
  spec.operation = operation;
  spec.mode = mode;
  spec.rank = 9;
  spec.dtype = type;
  const Problem problem(spec, x);
  const auto prepared =
      method.prepare(problem, method.params().resolve({{"buffer", std::int64_t{1}}}));
  CHECK(prepared->executed().at("parts") == std::to_string(parts));
  CHECK(prepared->footprint().format_bytes >= x->bytes());
  CHECK(prepared->footprint().device_bytes < 2 * kMebibyte);
  for (int again = 0; again < 3; ++again) {
    run(*prepared);
    const auto report = problem.oracle().check(prepared->result(), reference::Precision::of(type));
    CHECK_MESSAGE(report.ok, report.reason);
  }
}

}  // namespace

TEST_CASE("a tensor that passes the device in many parts has the oracle's result") {
  // 16 bytes a nonzero in single precision, 20 in double; parts of half a mebibyte.
  const Coo tensor = uniform({300, 200, 100}, 300000, 1, DType::f64);
  for (const int mode : {0, 1, 2}) {
    check_streamed(tensor, Operation::mttkrp, mode, DType::f32, 10);
    check_streamed(tensor, Operation::mttkrp, mode, DType::f64, 12);
  }
  check_streamed(tensor, Operation::mttkrp_all, 0, DType::f32, 10);
  check_streamed(tensor, Operation::mttkrp_all, 0, DType::f64, 12);
}

TEST_CASE("a last part of one nonzero, and no part at all") {
  const Coo one = uniform({300, 200, 100}, 32769, 2, DType::f64);
  check_streamed(one, Operation::mttkrp_all, 0, DType::f32, 2);
  check_streamed(Coo({5, 4, 3}, DType::f64), Operation::mttkrp_all, 0, DType::f32, 0);
}
