// Groups of fibers made on the device beside those of the host: every array, bit for bit.
#include <doctest/doctest.h>

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "common/generate/generators.hpp"
#include "papers/hlsto/format/fiber_groups_device.cuh"

using namespace retensor;
using namespace retensor::hlsto;

namespace {

template <class A, class T>
bool same(const A& host, const device::Buffer<T>& on_device) {
  const std::vector<T> there = on_device.to_host();
  return std::equal(host.begin(), host.end(), there.begin(), there.end());
}

/// The first array in which the two differ; empty where none does.
std::string difference(const FiberGroups& host, const DeviceFiberGroups& made) {
  if (host.uppers() != made.uppers) return "uppers";
  if (!same(host.first, made.first)) return "first";
  if (!std::ranges::equal(host.first, made.first_steps)) return "first on the host";
  if (!same(host.row, made.row)) return "row";
  if (!same(host.upper, made.upper)) return "upper";
  if (host.segment != made.segment) return "segment";
  if (!same(host.code, made.code)) return "code";
  if (!same(host.value, made.value)) return "value";
  if (!same(host.rest, made.rest)) return "rest";
  return same(host.selector, made.selector) ? "" : "selector";
}

void check(const Coo& x, const GroupOptions& options) {
  const auto made = to_fiber_groups(DeviceCoo(x), options);
  const auto host = to_fiber_groups(x, options);
  CHECK_MESSAGE(difference(host, made) == "", "mode ", options.mode + 1, ", leaves' mode ",
                options.leaf + 1, ", segments of ", options.segment_rows, " rows");
}

void check_all(const Coo& x, Count segment_rows) {
  for (int mode = 0; mode < x.order(); ++mode)
    for (int leaf = 0; leaf < x.order(); ++leaf)
      for (const auto form : {GroupForm::summed, GroupForm::side_by_side})
        if (leaf != mode)
          check(x, {.mode = mode, .leaf = leaf, .form = form, .segment_rows = segment_rows});
  CHECK(longest_fibers(DeviceCoo(x)) == longest_fibers(x));
}

}  // namespace

TEST_CASE("groups of orders 2 to 5 with one segment and with several") {
  const std::vector<Dims> shapes = {
      {30, 40}, {20, 33, 50}, {3, 2000, 2}, {9, 8, 7, 30}, {5, 4, 6, 3, 2}};
  for (const auto& dims : shapes)
    for (const Count rows : {Count{7}, Count{2000}})
      check_all(uniform(dims, 500, 5, DType::f32), rows);
}

TEST_CASE("groups of many rows and of fibers that are cut") {
  check_all(uniform({300, 200, 100}, 200'000, 7, DType::f32), 64);
  check_all(uniform({2, 1, 5000}, 6000, 5, DType::f32), 5000);
}

TEST_CASE("groups of a tensor without nonzeros") {
  check_all(Coo({9, 8, 7}, DType::f32), 4);
}

TEST_CASE("a planted difference of groups is named") {
  const Coo x = uniform({20, 33, 50}, 500, 5, DType::f32);
  const GroupOptions options{.mode = 0, .leaf = 1, .segment_rows = 40};
  const auto made = to_fiber_groups(DeviceCoo(x), options);
  auto host = to_fiber_groups(x, options);
  host.code[3] ^= 1;
  CHECK(difference(host, made) == "code");
  host.row[0] += 1;
  CHECK(difference(host, made) == "row");
}
