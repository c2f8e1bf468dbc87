// HLS made on the device beside HLS made on the host: every array, bit for bit.
#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "common/core/error.hpp"
#include "common/tensor/operations.hpp"
#include "papers/hlsto/format/hls_device.cuh"
#include "papers/hlsto/format/tuned_device.cuh"
#include "tests/gpu/clustered.hpp"

using namespace retensor;
using namespace retensor::hlsto;
using namespace retensor::test;

namespace {

/// The same with values of zero, negative ones.
Coo clustered_with_zeros(const Dims& dims, Count nnz) {
  Coo x = clustered(dims, nnz);
  for (Count p = 0; p < nnz; p += 100) x.values.set(p, -0.0);
  return x;
}

/// Every cell of a cube, the last first.
Coo full(Index edge) {
  Coo x(Dims(3, edge), DType::f32, Count{edge} * edge * edge);
  for (Count p = 0; p < x.nnz(); ++p) {
    const auto cell = static_cast<Index>(x.nnz() - 1 - p);
    x.indices[0][p] = cell / edge / edge;
    x.indices[1][p] = cell / edge % edge;
    x.indices[2][p] = cell % edge;
    x.values.set(p, static_cast<double>(p));
  }
  return x;
}

template <class A, class T>
bool same(const A& host, const device::Buffer<T>& on_device) {
  const std::vector<T> there = on_device.to_host();
  const auto a = std::as_bytes(std::span(host)), b = std::as_bytes(std::span(there));
  return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

/// Of values as the device pads them.
bool same_values(const StoredValues& host, const device::Buffer<std::byte>& made) {
  const auto of = [&](const auto& values) {
    const auto bytes = std::as_bytes(std::span(values));
    std::vector<std::byte> padded(bytes.begin(), bytes.end());
    padded.resize((padded.size() + 15) / 16 * 16);
    return same(padded, made);
  };
  return host.type() == ValueType::f32 ? of(host.wide()) : of(host.narrow());
}

/// The first array in which the two differ; empty where none does.
std::string difference(const Hls& host, const DeviceHls& made) {
  if (host.dims != made.dims || host.tiles != made.tiles || host.nnz() != made.nnz() ||
      host.dense_tiles != made.dense_tiles || host.bytes() != made.bytes())
    return "shape";
  if (!same(host.tile_index.data(), made.tile_index)) return "tile index";
  if (!same(host.bitmap, made.bitmap)) return "bitmap";
  if (!same(host.value_start, made.value_start)) return "value start";
  if (!same_values(host.dense_values, made.dense_values)) return "dense values";
  if (!same(host.nonzero_index.data(), made.nonzero_index)) return "nonzero index";
  if (!same_values(host.sparse_values, made.sparse_values)) return "sparse values";
  return "";
}

/// The entries in ascending order of their coordinates of the first listed mode, then of the next,
/// stably.
std::vector<std::uint32_t> order_of(const PackedIndices& indices, const LinearIndex& index,
                                    const std::vector<int>& modes) {
  std::vector<std::uint32_t> order(indices.size());
  std::iota(order.begin(), order.end(), 0u);
  std::ranges::stable_sort(order, {}, [&](std::uint32_t p) {
    std::vector<Index> key;
    for (const int k : modes) key.push_back(index.decode(indices.at(p), k));
    return key;
  });
  return order;
}

void check_alike(const Coo& x) {
  const DeviceCoo on(x);
  int turn = 0;
  for (const int edge_bits : {3, 4, 5})
    for (const Count threshold : {Count{1}, Count{78}, kNoTileIsDense}) {
      CAPTURE(x.dims.size());
      CAPTURE(x.nnz());
      CAPTURE(edge_bits);
      CAPTURE(threshold);
      const Options options{.edge_bits = edge_bits,
                            .threshold = threshold,
                            .values = static_cast<ValueType>((turn + turn / 3) % 3)};
      ++turn;
      const Hls host = to_hls(x, options);
      CHECK(difference(host, to_hls(on, options)) == "");
      CHECK(difference(host, upload(host)) == "");
    }
}

}  // namespace

TEST_CASE("HLS made on the device is that of the host") {
  for (const Dims& dims : {Dims{300, 200, 70}, Dims{3, 300, 200, 70}, Dims{70, 2, 300, 4, 200}})
    for (const Count nnz : {0, 1, 37, 20000}) {
      Coo x = clustered_with_zeros(dims, nnz);
      check_alike(x);
      dedupe(x, Duplicates::sum);
      check_alike(x);
    }
}

TEST_CASE("tiles whose every cell is filled") {
  check_alike(full(16));
  check_alike(full(32));
}

TEST_CASE("one nonzero in a tensor without index bits") {
  const Coo x({1, 1, 1}, DType::f32, 1);
  const Options options{.edge_bits = 0, .threshold = 1};
  CHECK(difference(to_hls(x, options), to_hls(DeviceCoo(x), options)) == "");
}

TEST_CASE("keys of more than 64 bits") {
  check_alike(clustered_with_zeros({5'000'000, 9'000'000, 4'000'000}, 500));
  check_alike(clustered_with_zeros({Count{1} << 32, Count{1} << 32, Count{1} << 32}, 500));
  check_alike(clustered_with_zeros({5'000'000, 9'000'000, 4'000'000, 6'000'000, 7'000'000}, 500));
}

TEST_CASE("chosen modes are tiled") {
  const Coo x = clustered_with_zeros({70, 2, 300, 4, 200}, 5000);
  const Options options{.threshold = 20, .tiled = {1, 2, 3}};
  CHECK(difference(to_hls(x, options), to_hls(DeviceCoo(x), options)) == "");
}

TEST_CASE("sparse nonzeros by their indices along modes, else as stored") {
  for (const Dims& dims : {Dims{300, 200, 70}, Dims{5'000'000, 9'000'000, 4'000'000}})
    for (const ValueType type : {ValueType::f16, ValueType::f32})
      for (const std::vector<int>& modes : {std::vector{0}, {1, 2}, {2, 0}, {2, 1, 0}}) {
        Hls host = to_hls(clustered_with_zeros(dims, 5000), {.values = type});
        DeviceHls made = upload(host);
        sort_sparse(made, modes);
        CHECK(difference(host, made) != "");
        const Hls before = host;
        const auto order = order_of(before.nonzero_index, before.grid.nonzero_index(), modes);
        for (Count p = 0; p < order.size(); ++p) {
          host.nonzero_index.set(p, before.nonzero_index.at(order[p]));
          host.sparse_values.set(p, before.sparse_values.at(order[p]));
        }
        CHECK(difference(host, made) == "");
      }
}

TEST_CASE("dense tiles by their place along a mode, else as stored") {
  const Hls host = to_hls(clustered_with_zeros({300, 200, 70, 3}, 5000), {.threshold = 2});
  REQUIRE(host.dense_tiles > 100);
  for (int k = 0; k < kTiledModes; ++k)
    CHECK(same(order_of(host.tile_index, host.grid.tile_index(), {k}),
               tiles_by_place(upload(host), k)));
  const Hls none = to_hls(clustered_with_zeros({300, 200, 70}, 0), {});
  CHECK(tiles_by_place(upload(none), 0).size() == 0);
}

TEST_CASE("a planted difference is named") {
  const Coo x = clustered_with_zeros({300, 200, 70}, 5000);
  const Options options{.threshold = 20};
  const Hls good = to_hls(x, options);
  REQUIRE(good.dense_tiles > 0);
  REQUIRE(good.sparse_nonzeros > 1);
  const DeviceHls made = to_hls(DeviceCoo(x), options);
  const auto named = [&](auto&& change) {
    Hls hls = good;
    change(hls);
    return difference(hls, made);
  };
  CHECK(named([](Hls& h) { ++h.tiles; }) == "shape");
  CHECK(named([](Hls& h) { h.tile_index.set(0, h.tile_index.at(0) ^ 1); }) == "tile index");
  CHECK(named([](Hls& h) { h.bitmap.back() ^= std::uint64_t{1} << 63; }) == "bitmap");
  CHECK(named([](Hls& h) { ++h.value_start[0]; }) == "value start");
  CHECK(named([](Hls& h) { h.dense_values.set(1, 77); }) == "dense values");
  CHECK(named([](Hls& h) { h.nonzero_index.set(1, 0); }) == "nonzero index");
  CHECK(named([](Hls& h) { h.sparse_values.set(0, 77); }) == "sparse values");
}

TEST_CASE("what the format cannot hold is refused") {
  CHECK_THROWS_AS(to_hls(DeviceCoo(Coo({5, 6}, DType::f32)), {}), InputError);
  CHECK_THROWS_AS(DeviceCoo(Coo({5, 6, 7}, DType::f64)).floats(), LogicError);
}
