// BCB and the matrices of a contraction made on the device beside those made on the host, every
// array bit for bit, counts of pairs, and the task list of both.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "common/core/error.hpp"
#include "papers/bcb_sptc/format/bcb_device.cuh"
#include "papers/bcb_sptc/format/matricised_device.cuh"
#include "papers/bcb_sptc/format/task_list.hpp"
#include "papers/bcb_sptc/format/task_list_device.cuh"
#include "tests/gpu/clustered.hpp"

using namespace retensor;
using namespace retensor::bcb_sptc;
using namespace retensor::test;

namespace {

/// The first array in which the two differ; empty where none does.
std::string difference(const DeviceBcb& a, const DeviceBcb& b) {
  if (a.dims != b.dims || a.blocks != b.blocks || a.nnz != b.nnz) return "shape";
  if (a.block_index.to_host() != b.block_index.to_host()) return "block index";
  if (a.bitmap.to_host() != b.bitmap.to_host()) return "bitmap";
  if (a.word_start.to_host() != b.word_start.to_host()) return "word start";
  return a.values.to_host() == b.values.to_host() ? "" : "values";
}

DeviceBcb made_of(const DeviceCoo& x, const Options& options) {
  return to_bcb(SortedNonzeros(view_of(x), options));
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
      CHECK(difference(upload(to_bcb(x, options)), made_of(on, options)) == "");
    }
}

std::string difference(const DeviceMatricised& a, const DeviceMatricised& b) {
  if (a.rows != b.rows || a.groups != b.groups || a.columns != b.columns) return "shape";
  if (a.products != b.products) return "products";
  if (a.row_start.to_host() != b.row_start.to_host()) return "rows";
  if (a.x_group.to_host() != b.x_group.to_host()) return "groups of x";
  if (a.group_start.to_host() != b.group_start.to_host()) return "groups of y";
  if (a.y_column.to_host() != b.y_column.to_host()) return "columns";
  if (a.row_index.to_host() != b.row_index.to_host()) return "row index";
  if (a.column_index.to_host() != b.column_index.to_host()) return "column index";
  if (a.x_values.to_host() != b.x_values.to_host()) return "values of x";
  return a.y_values.to_host() == b.y_values.to_host() ? "" : "values of y";
}

/// The matrices of a contraction, and both counts from which a path is chosen.
void check_matrices(const std::string& einsum, const Coo& x, const Coo& y) {
  CAPTURE(einsum);
  CAPTURE(x.nnz());
  const Contraction modes(einsum, x.dims, y.dims);
  const DeviceCoos on(x, y);
  const Matricised host(modes, x, y);
  const SortedOperands cells(on, cells_of(modes));
  CHECK(difference(DeviceMatricised(modes, host), DeviceMatricised(modes, cells)) == "");
  CHECK(count_pairs(cells) == host.products);
  const Operands operands(modes, {}, x, y);
  TaskList list(operands, false);
  list.build();
  CHECK(count_pairs(SortedOperands(on, OperandOptions(modes, {}))) == list.pairs());
}

/// The task list of "abk,kcd->abcd", built twice.
void check_task_list(const Coo& x, const Coo& y, bool intersect) {
  const Operands operands(Contraction("abk,kcd->abcd", x.dims, y.dims), {}, x, y);
  const DeviceBcb on_x = upload(operands.x), on_y = upload(operands.y);
  TaskList host(operands, intersect);
  host.build();
  DeviceTaskList made(on_x, on_y, {.intersect = intersect}, device_room());
  for (int run = 0; run < 2; ++run) made.build(nullptr);
  CHECK(made.pairs() == host.pairs());
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
    CHECK(made_of(on, {.leading = 1, .values = values}).nnz > 0);
  check_task_list(clustered({20, 16, 24}, 150), clustered({24, 20, 9}, 150), true);
  check_matrices("abk,kcd->abcd", clustered({20, 16, 24}, 150), clustered({24, 20, 9}, 150));
}

TEST_CASE("matrices made on the device are those of the host") {
  for (const Count nnz : {0, 1, 300, 20000}) {
    const Coo x = clustered({300, 200, 70}, nnz), y = clustered({70, 300, 40}, 5000);
    check_matrices("abk,kcd->abcd", x, y);
    check_matrices("abk,kcd->abcd", clustered({40, 9, 70}, 5000), clustered({70, 300, 40}, nnz));
    check_matrices("abk,akc->bc", x, clustered({300, 70, 8}, 3000));
    check_matrices("kla,klb->ab", x, x);
    check_matrices("a,b->ab", clustered({500}, nnz), clustered({90}, 200));
    check_matrices("k,ka->a", clustered({500}, nnz), clustered({500, 200}, 3000));
  }
}

TEST_CASE("keys of more than 64 bits") {
  const Count longest = Count{1} << 32;
  const Coo x = clustered({longest, longest, longest}, 500);
  check_alike(x);
  check_matrices("abk,kcd->abcd", x, clustered({longest, 60, 60}, 300));
  check_matrices("abk,kcd->abcd", clustered({60, 60, longest}, 300), x);
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

TEST_CASE("a planted difference of matrices is named") {
  const Coo x = clustered({30, 20, 70}, 500), y = clustered({70, 30, 4}, 400);
  const Contraction modes("abk,kcd->abcd", x.dims, y.dims);
  const Matricised good(modes, x, y);
  const DeviceMatricised made(modes, good);
  const auto named = [&](auto&& change) {
    Matricised m = good;
    change(m);
    return difference(DeviceMatricised(modes, m), made);
  };
  CHECK(named([](Matricised&) {}) == "");
  CHECK(named([](Matricised& m) { ++m.products; }) == "products");
  CHECK(named([](Matricised& m) { ++m.row_start[1]; }) == "rows");
  CHECK(named([](Matricised& m) { ++m.x_group.back(); }) == "groups of x");
  CHECK(named([](Matricised& m) { ++m.group_start[1]; }) == "groups of y");
  CHECK(named([](Matricised& m) { ++m.y_column.front(); }) == "columns");
  CHECK(named([](Matricised& m) { ++m.row_index[1].back(); }) == "row index");
  CHECK(named([](Matricised& m) { ++m.column_index[0].front(); }) == "column index");
  CHECK(named([](Matricised& m) { m.x_values[3] += 1; }) == "values of x");
  CHECK(named([](Matricised& m) { m.y_values[3] += 1; }) == "values of y");
}

TEST_CASE("the device's task list is the host's") {
  // Lists that one thread block makes and longer ones; few pairs without a common cell and many.
  for (const Count nnz : {400, 4000, 12000})
    for (const bool intersect : {false, true})
      check_task_list(clustered({100, 90, 80}, nnz), clustered({80, 100, 30}, nnz), intersect);
}
