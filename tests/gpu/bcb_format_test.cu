// BCB made on the device beside BCB made on the host, every array bit for bit, and the task list of
// both.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "common/core/error.hpp"
#include "common/core/rng.hpp"
#include "papers/bcb_sptc/format_cuda.cuh"
#include "papers/bcb_sptc/path_cuda.cuh"
#include "papers/bcb_sptc/task_list.hpp"
#include "papers/bcb_sptc/task_list_cuda.cuh"

using namespace retensor;
using namespace retensor::bcb_sptc;

namespace {

/// Half of the nonzeros lie in a corner of 20 indices a mode, where coordinates occur more than
/// once; values need rounding, some beyond the normal numbers of half precision.
Coo clustered(const Dims& dims, Count nnz) {
  Coo x(dims, DType::f32, nnz);
  const CounterRng rng(dims.size());
  std::uint64_t draw = 0;
  for (Count p = 0; p < nnz; ++p) {
    const bool corner = rng.bits(draw++) % 2 == 0;
    for (std::size_t m = 0; m < dims.size(); ++m) {
      const auto length = corner ? std::min<std::uint64_t>(dims[m], 20) : dims[m];
      x.indices[m][p] = static_cast<Index>(rng.below(draw++, length));
    }
    const int exponent = static_cast<int>(rng.below(draw++, 50)) - 30;
    x.values.set(p, std::ldexp(rng.uniform(draw++) - 0.5, exponent));
  }
  return x;
}

/// The first array in which the two differ; empty where none does.
std::string difference(const DeviceBcb& a, const DeviceBcb& b) {
  if (a.dims != b.dims || a.blocks != b.blocks || a.nnz != b.nnz) return "shape";
  if (a.block_index.to_host() != b.block_index.to_host()) return "block index";
  if (a.bitmap.to_host() != b.bitmap.to_host()) return "bitmap";
  if (a.word_start.to_host() != b.word_start.to_host()) return "word start";
  return a.values.to_host() == b.values.to_host() ? "" : "values";
}

/// Every tensor in single precision and halves, modes in two orders.
void check_alike(const Coo& x) {
  const DeviceCoo on(x);
  for (const ValueType values : {ValueType::f16, ValueType::bf16, ValueType::f32})
    for (const int leading : {0, 1, x.order()}) {
      CAPTURE(x.dims.size());
      CAPTURE(x.nnz());
      CAPTURE(leading);
      Options options{.leading = leading, .values = values};
      for (int m = x.order(); m-- > 0;) options.modes.push_back(m);
      CHECK(difference(upload(to_bcb(x, options)), to_bcb(on, options)) == "");
    }
}

/// The task list of "abk,kcd->abcd", built twice.
void check_task_list(const Coo& x, const Coo& y, bool intersect) {
  const Operands operands(Contraction("abk,kcd->abcd", x.dims, y.dims), {}, x, y);
  const DeviceBcb on_x = upload(operands.x), on_y = upload(operands.y);
  TaskList host(operands, intersect);
  host.build();
  DeviceTaskList made(on_x, on_y, intersect, device_room());
  CHECK(made.count_pairs() == host.pairs());
  for (int run = 0; run < 2; ++run) made.build(nullptr);
  REQUIRE(made.tasks() == host.tasks());
  REQUIRE(made.results() == host.results());
  std::vector<Task> tasks(made.tasks());
  RETENSOR_CUDA_CHECK(cudaMemcpy(tasks.data(), made.view().tasks, tasks.size() * sizeof(Task),
                                 cudaMemcpyDeviceToHost));
  Count differences = 0, at = 0;
  for (Count r = 0; r < host.results(); ++r)
    for (const Task task : host.tasks_of(r)) {
      differences += task.x != tasks[at].x || task.y != tasks[at].y ? 1 : 0;
      ++at;
    }
  CHECK(differences == 0);
}

}  // namespace

TEST_CASE("BCB made on the device is that of the host") {
  for (const Dims& dims : {Dims{5000}, Dims{300, 200}, Dims{300, 200, 70}, Dims{3, 300, 200, 70},
                           Dims{70, 2, 300, 4, 200}})
    for (const Count nnz : {0, 1, 37, 20000}) check_alike(clustered(dims, nnz));
}

TEST_CASE("few nonzeros and a short task list, for a sanitiser") {
  const DeviceCoo on(clustered({30, 20, 10}, 200));
  for (const ValueType values : {ValueType::f16, ValueType::f32})
    CHECK(to_bcb(on, {.leading = 1, .values = values}).nnz > 0);
  check_task_list(clustered({20, 16, 24}, 150), clustered({24, 20, 9}, 150), true);
}

TEST_CASE("keys of more than 64 bits") {
  const Count longest = Count{1} << 32;
  check_alike(clustered({longest, longest, longest}, 500));
}

TEST_CASE("a planted difference is named") {
  const Bcb good = to_bcb(clustered({300, 200, 70}, 5000), {});
  const DeviceBcb made = upload(good);
  const auto named = [&](auto&& change) {
    Bcb bcb = good;
    change(bcb);
    return difference(upload(bcb), made);
  };
  CHECK(named([](Bcb& b) { b.block_index.set(0, b.block_index.at(0) ^ 1); }) == "block index");
  CHECK(named([](Bcb& b) { b.bitmap.front() ^= 1; }) == "bitmap");
  CHECK(named([](Bcb& b) { b.values.set(1, 77); }) == "values");
}

TEST_CASE("the device's task list is the host's") {
  // Lists that one thread block makes and longer ones; few pairs without a common cell and many.
  for (const Count nnz : {400, 4000, 12000})
    for (const bool intersect : {false, true})
      check_task_list(clustered({100, 90, 80}, nnz), clustered({80, 100, 30}, nnz), intersect);
}
