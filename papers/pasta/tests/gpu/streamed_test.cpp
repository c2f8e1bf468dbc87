// pasta.cuda.streamed with buffers so small that a tensor passes them in many parts: every
// operation against the oracle, run after run, and what it holds on the device.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <numeric>
#include <string>

#include "common/core/error.hpp"
#include "common/device/device.hpp"
#include "common/generate/generators.hpp"
#include "common/io/cache.hpp"
#include "common/io/files.hpp"
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

ProblemSpec spec_of(Operation operation, int mode, DType type) {
  ProblemSpec spec;
  spec.operation = operation;
  spec.mode = mode;
  spec.rank = 9;
  spec.dtype = type;
  return spec;
}

const Method& streamed() {
  static const Registry registry = all_methods();
  return registry.find("pasta.cuda.streamed");
}

void check_streamed(const Coo& tensor, Operation operation, int mode, DType type, Count parts,
                    const std::string& file = "") {
  const Method& method = streamed();
  auto x = std::make_shared<Coo>(tensor);
  x->values = tensor.values.cast(type);
  const Problem problem(spec_of(operation, mode, type), x);
  const auto prepared = method.prepare(
      problem, method.params().resolve({{"buffer", std::int64_t{1}}, {"file", file}}));
  CHECK(prepared->executed().at("parts") == std::to_string(parts));
  const Count kept = file.empty() ? x->nnz() : std::min(x->nnz(), Count{40000});
  CHECK(prepared->footprint().format_bytes >= kept * (4 + size_of(type)));
  if (!file.empty()) CHECK(prepared->footprint().format_bytes < 2 * kMebibyte);
  // Buffers, and factors and results of at most 80 bytes a row.
  const Count rows = std::accumulate(x->dims.begin(), x->dims.end(), Count{0});
  CHECK(prepared->footprint().device_bytes <= kMebibyte + 160 * rows);
  for (int again = 0; again < 3; ++again) {
    run(*prepared);
    const auto report = problem.oracle().check(prepared->result(), reference::Precision::of(type));
    CHECK_MESSAGE(report.ok, report.reason);
  }
}

}  // namespace

TEST_CASE("a tensor that passes the device in many parts has the oracle's result") {
  // Of 24 bits: two parts of 8 bytes a nonzero in single precision, 12 in double, and 12 for the
  // indices of one, in a mebibyte.
  const Coo tensor = uniform({300, 200, 100}, 300000, 1, DType::f64);
  for (const int mode : {0, 1, 2}) {
    check_streamed(tensor, Operation::mttkrp, mode, DType::f32, 9);
    check_streamed(tensor, Operation::mttkrp, mode, DType::f64, 11);
  }
  check_streamed(tensor, Operation::mttkrp_all, 0, DType::f32, 9);
  check_streamed(tensor, Operation::mttkrp_all, 0, DType::f64, 11);
}

TEST_CASE("a nonzero more than a part has room for, and no part at all") {
  const Coo one = uniform({300, 200, 100}, 37449, 2, DType::f64);
  check_streamed(one, Operation::mttkrp_all, 0, DType::f32, 2);
  check_streamed(Coo({5, 4, 3}, DType::f64), Operation::mttkrp_all, 0, DType::f32, 0);
}

TEST_CASE("indices of more than 32 bits") {
  const Coo wide = uniform({70000, 60000, 50000, 3}, 50000, 4, DType::f64);
  check_streamed(wide, Operation::mttkrp_all, 0, DType::f32, 2);
  check_streamed(wide, Operation::mttkrp, 3, DType::f64, 3);
}

TEST_CASE("a sparse matrix times a dense one") {
  const Coo matrix = uniform({3000, 2000}, 200000, 5, DType::f64);
  check_streamed(matrix, Operation::spmm, 0, DType::f32, 5);
  check_streamed(matrix, Operation::spmm, 0, DType::f64, 7);
}

TEST_CASE("a tensor in a file has the result of the one in memory") {
  const ScratchFolder folder;
  const auto file = (folder.path() / "x.tnsb").string();
  const Coo tensor = uniform({300, 200, 100}, 300000, 1, DType::f64);
  write_cache(file, tensor);
  check_streamed(tensor, Operation::mttkrp_all, 0, DType::f32, 9, file);
  check_streamed(tensor, Operation::mttkrp, 1, DType::f64, 11, file);
  const Coo matrix = uniform({3000, 2000}, 200000, 5, DType::f64);
  const auto of_matrix = (folder.path() / "m.tnsb").string();
  write_cache(of_matrix, matrix);
  check_streamed(matrix, Operation::spmm, 0, DType::f32, 5, of_matrix);
  check_streamed(matrix, Operation::spmm, 0, DType::f64, 7, of_matrix);
  const auto params = streamed().params().resolve({{"file", file}});
  const Problem other(spec_of(Operation::mttkrp, 0, DType::f32),
                      std::make_shared<Coo>(Dims{300, 200, 101}, DType::f32));
  CHECK_THROWS_AS(streamed().prepare(other, params), InputError);
}

TEST_CASE("what a run is expected to hold is what it holds") {
  const Coo tensor = uniform({300, 200, 100}, 300000, 1, DType::f32);
  const Problem problem(spec_of(Operation::mttkrp_all, 0, DType::f32),
                        std::make_shared<Coo>(tensor));
  const auto params = streamed().params().resolve({{"buffer", std::int64_t{1}}});
  const auto outline = Problem::outline(
      problem.spec(), std::make_shared<Coo>(tensor.dims, DType::f32), tensor.nnz());
  const auto expected = streamed().predict(outline, params);
  REQUIRE(expected.has_value());
  const auto held = streamed().prepare(problem, params)->footprint();
  CHECK(expected->device_bytes == held.device_bytes);
  CHECK(expected->host_bytes == held.format_bytes);
  CHECK(expected->seconds > 0);
}
