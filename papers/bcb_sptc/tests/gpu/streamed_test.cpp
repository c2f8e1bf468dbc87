// bcb_sptc.cuda.streamed with buffers so small that an operand passes them in many parts and the
// result leaves the device in many slabs, beside a dense einsum.
#include <doctest/doctest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "common/core/error.hpp"
#include "common/device/device.hpp"
#include "papers/bcb_sptc/kernels/prepare_cuda.hpp"
#include "papers/bcb_sptc/tests/gpu/rows_case.hpp"
#include "papers/bcb_sptc/tests/unit/addend_checks.hpp"

using namespace retensor;
using namespace retensor::bcb_sptc;
using namespace retensor::bcb_sptc::test;

namespace {

/// Room for two parts and for the result, in bytes.
struct Room {
  double buffer, memory = 0;
};

Params params_of(const Room& room) {
  return make_bcb_cuda_streamed().params.resolve(
      {{"buffer", room.buffer * 0x1p-20}, {"memory", room.memory * 0x1p-30}, {"alone", true}});
}

/// What runs tell, each of which has the expected result.
Executed checked(const Case& c, const Answer& expected, const Room& room, double alpha = 1) {
  const Problem problem = problem_of(c, alpha);
  const auto prepared = prepare_streamed_cuda(problem, params_of(room));
  check_runs(*prepared, expected);
  return prepared->executed();
}
Executed checked(const Case& c, const Room& room, double alpha = 1) {
  return checked(c, einsum_of(c, alpha), room, alpha);
}

Case order_four(const std::string& einsum) {
  Draws draws(31);
  return {einsum, shared(random_tensor({40, 9, 30}, 0.05, draws)),
          shared(random_tensor({40, 23, 12}, 0.05, draws))};
}

/// With as many more nonzeros of the first operand as the second has, which meet none.
Case with_larger_x(const Case& c) {
  const Count more = c.y->nnz(), before = c.x->nnz();
  Coo x({std::max(c.x->dims[0], more), c.x->dims[1] + 1}, DType::f32, before + more);
  for (Count p = 0; p < x.nnz(); ++p) {
    x.indices[0][p] = p < before ? c.x->indices[0][p] : static_cast<Index>(p - before);
    x.indices[1][p] = p < before ? c.x->indices[1][p] : static_cast<Index>(c.x->dims[1]);
    x.values.set(p, p < before ? c.x->values.at(p) : 1);
  }
  Coo y = *c.y;
  ++y.dims[0];
  return {c.einsum, shared(x), shared(y)};
}

double bytes_of(const Case& c, Count order) {
  return static_cast<double>(einsum_of(c, 1).size() * (order + 1) * 4);
}

}  // namespace

TEST_CASE("the larger operand passes in parts, whichever it is") {
  for (const char* einsum : {"kab,kcd->abcd", "kab,kcd->dcba", "kab,kcd->cabd"})
    for (const bool swapped : {false, true}) {
      Case c = order_four(einsum);
      if (swapped) {
        std::swap(c.x, c.y);
        c.einsum.replace(0, 7, "kcd,kab");
      }
      const auto told = checked(c, {4096}, -1.5);
      CHECK(std::stoi(told.at("parts")) >= 4);
      CHECK(told.at("result") == "on the device");
      CHECK(checked(c, {1 << 20}).at("parts") == "1");
    }
}

TEST_CASE("a result beyond the memory that it may take leaves in slabs") {
  for (const char* einsum : {"kab,kcd->abcd", "kab,kcd->dcba"}) {
    const Case c = order_four(einsum);
    const double bytes = bytes_of(c, 4);
    CHECK(checked(c, {1 << 20, bytes}).at("result") == "on the device");
    const auto told = checked(c, {1 << 20, bytes / 4});
    CHECK(told.at("result") == "in slabs on the host");
    CHECK(std::stoi(told.at("parts")) >= 8);
    CHECK(std::stod(told.at("seconds of fetches alone")) > 0);
    // Slabs are no larger than a part's buffers.
    CHECK(std::stoi(checked(c, {8192, bytes - 1}).at("parts")) >= bytes / 8192);
  }
}

TEST_CASE("rows of every size, in parts and in slabs") {
  const Case small = rows_of({3, 90, 400, 700, 1500, 3000, 7000, 8193});
  const Case c = with_larger_x(small);
  const Answer expected = einsum_of(small, -2);
  CHECK(checked(c, expected, {1 << 20}, -2).at("parts") == "1");
  CHECK(std::stoi(checked(c, expected, {256}, -2).at("parts")) > 1);
  CHECK(checked(c, expected, {1 << 20, 8193 * 2 * 12.0}, -2).at("result") ==
        "in slabs on the host");
}

TEST_CASE("contractions of orders 1 to 5") {
  Draws draws(22);
  for_each_small_case(5, draws, [&](const Case& c) {
    INFO(c.einsum);
    checked(c, {1 << 16});
  });
}

TEST_CASE("no entry, and results that are wrong") {
  const Case none{"ak,kb->ab", shared(Coo({9, 8}, DType::f32)), full({8, 7})};
  CHECK(checked(none, {4096}).at("result_nonzeros") == "0");
  const Case c = order_four("kab,kcd->abcd");
  const Problem problem = problem_of(c);
  const auto prepared = prepare_streamed_cuda(problem, params_of({4096, bytes_of(c, 4) / 4}));
  const auto timer = device::make_event_timer();
  timer->start();
  prepared->run(*timer);
  timer->stop();
  CHECK(difference(std::get<Coo>(prepared->result()), einsum_of(c, 1.01), 0x1p-11) != "");
}

TEST_CASE("a row that no part, or whose entries no slab has room for, is refused") {
  const Case c{"ak,kb->ab", full({4, 300}), full({300, 3})};
  CHECK(checked(c, {2 * (300 * 8 + 64)}).at("parts") == "4");
  CHECK_THROWS_WITH_AS(checked(c, {2 * 300 * 8}), doctest::Contains("a row of 300 nonzeros takes"),
                       OutOfMemory);
  CHECK(checked(c, {1 << 20, 2 * 3 * 12}).at("parts") == "4");
  CHECK_THROWS_WITH_AS(checked(c, {1 << 20, 2 * 2 * 12}),
                       doctest::Contains("3 entries, a slab has room for 2"), OutOfMemory);
}

TEST_CASE("what a run is expected to hold is what it holds") {
  Draws draws(7);
  const auto x = shared(random_tensor({60, 50, 40}, 0.02, draws));
  for (const double memory : {0.0, 40000.0}) {
    const Case c{"kab,kcd->abcd", x, x};
    const Problem problem = problem_of(c);
    const auto params = params_of({8192, memory});
    const auto outline = Problem::outline(problem.spec(), x, x->nnz());
    const auto expected = predict_streamed_cuda(outline, params);
    const auto held = prepare_streamed_cuda(problem, params)->footprint();
    CHECK(expected.device_bytes == held.device_bytes);
    CHECK(expected.host_bytes == held.format_bytes);
    CHECK(expected.seconds > 0);
  }
}
