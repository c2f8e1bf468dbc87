// FLYCOO's formats made on the device beside those made on the host: every array, bit for bit.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "common/core/error.hpp"
#include "common/core/rng.hpp"
#include "common/device/device.hpp"
#include "papers/flycoo/format/flycoo_device.cuh"
#include "papers/flycoo/format/records_device.cuh"
#include "papers/flycoo/format/tiles_device.cuh"

using namespace retensor;
using namespace retensor::flycoo;

namespace {

/// Half of the nonzeros lie in one row of each mode, the others in rows of even number; some
/// coordinates occur more than once.
Coo skewed(std::size_t order, Count nnz, DType dtype) {
  const Dims all{300, 2000, 70, 5, 1, 40};
  Coo x(Dims(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(order)), dtype, nnz);
  const CounterRng rng(order);
  for (Count p = 0; p < nnz; ++p) {
    for (std::size_t m = 0; m < order; ++m) {
      const Count draw = 2 * (p * order + m);
      const auto length = x.dims[m];
      x.indices[m][p] = rng.bits(draw) % 2 == 0
                            ? static_cast<Index>(length / 2)
                            : static_cast<Index>(rng.below(draw + 1, length) / 2 * 2);
    }
    x.values.set(p, static_cast<double>(p) + 0.5);
  }
  for (std::size_t m = 0; m < order && nnz > 20; ++m)
    std::copy_n(x.indices[m].begin(), 10, x.indices[m].end() - 10);
  return x;
}

template <class A, class T>
bool same(const A& host, const device::Buffer<T>& on_device) {
  const std::vector<T> there = on_device.to_host();
  return std::equal(host.begin(), host.end(), there.begin(), there.end());
}

/// Of records as the device pads them.
bool same_records(const Array<std::uint32_t>& host, const device::Buffer<std::uint32_t>& made) {
  std::vector<std::uint32_t> padded(host.begin(), host.end());
  padded.resize(padded.size() + 4);
  return same(padded, made);
}

/// The first array in which the two differ; empty where none does.
std::string difference(const Tiled& host, const DeviceTiled& made) {
  if (host.tile != made.tile || host.nnz != made.nnz || host.layout.words != made.layout.words)
    return "shape";
  if (host.modes.size() != made.modes.size() || host.records.size() != made.records.size())
    return "modes";
  for (std::size_t m = 0; m < host.modes.size(); ++m) {
    const TiledMode& a = host.modes[m];
    const DeviceMode& b = made.modes[m];
    const std::string mode = " of mode " + std::to_string(m);
    if (!same(a.walk, b.walk)) return "walk" + mode;
    if (!same(a.leave, b.leave)) return "leave" + mode;
    if (!same(a.target, b.target)) return "target" + mode;
    if (!same(a.joined, b.joined)) return "joined" + mode;
    if (!same(a.cut, b.cut)) return "cut" + mode;
    if (a.fibers != b.fibers) return "fibers" + mode;
  }
  for (std::size_t k = 0; k < host.records.size(); ++k) {
    if (!same_records(host.records[k], made.records[k])) return "records " + std::to_string(k);
  }
  return "";
}

std::string difference(const Flycoo& host, const DeviceFlycoo& made) {
  if (host.nnz != made.nnz || host.layout.words != made.layout.words) return "shape";
  if (!same_records(host.records, made.records)) return "records";
  if (host.modes.size() != made.modes.size() || host.streams.size() != made.streams.size())
    return "modes";
  for (std::size_t m = 0; m < host.modes.size(); ++m) {
    const std::string mode = " of mode " + std::to_string(m);
    if (host.modes[m].part != made.modes[m].part) return "partitions" + mode;
    if (host.modes[m].heaviest != made.modes[m].heaviest) return "heaviest index" + mode;
    if (!same(host.modes[m].start, made.start[m])) return "starts" + mode;
    if (m < host.streams.size() && !same(host.streams[m], made.streams[m])) return "stream" + mode;
  }
  return "";
}

// The assignment is made on the host: it is not crossed with what kernels depend on.
std::vector<Options> all_options(std::uint32_t kappa) {
  std::vector<Options> list{{.kappa = kappa}};
  for (const auto how : {Assignment::cyclic, Assignment::contiguous, Assignment::random})
    list.push_back({.kappa = kappa, .assignment = how, .indices = Indices::packed, .seed = 5});
  for (const auto arrangement : {Arrangement::arrival, Arrangement::row})
    for (const auto ids : {Ids::record, Ids::stream})
      for (const int id_bits : {0, 64})
        list.push_back({.kappa = kappa,
                        .arrangement = arrangement,
                        .indices = Indices::packed,
                        .ids = ids,
                        .id_bits = id_bits});
  return list;
}

// Orders and kappas are subcases, so that a sanitiser can take one of each.
template <class Check>
void for_each_order(Check&& check) {
  for (std::size_t order = 2; order <= 6; ++order)
    SUBCASE(("order " + std::to_string(order)).c_str()) {
      check(order);
    }
}

void check_paper_format(std::size_t order, std::uint32_t kappa) {
  for (const Count nnz : {Count{0}, Count{1}, Count{20000}})
    for (const DType dtype : {DType::f32, DType::f64}) {
      const Coo x = skewed(order, nnz, dtype);
      const DeviceCoo on(x);
      for (const Options& options : all_options(kappa)) {
        CAPTURE(nnz);
        CAPTURE(word_of(options.assignment));
        const Flycoo host = to_flycoo(x, options);
        CHECK(difference(host, to_flycoo(on, options)) == "");
        CHECK(difference(host, upload(host)) == "");
      }
    }
}

}  // namespace

TEST_CASE("tiles made on the device are those of the host") {
  for_each_order([](std::size_t order) {
    for (const Count nnz : {Count{0}, Count{1}, Count{37}, Count{100000}})
      for (const DType dtype : {DType::f32, DType::f64}) {
        const Coo x = skewed(order, nnz, dtype);
        const DeviceCoo on(x);
        for (const bool remap : {true, false})
          for (const std::uint32_t tile : {4u, 1000u, 65536u}) {
            CAPTURE(nnz);
            CAPTURE(tile);
            CAPTURE(remap);
            const TileOptions options{.tile = tile, .unit = 4, .processors = 3, .remap = remap};
            const Tiled host = to_tiled(x, options);
            CHECK(difference(host, to_tiled(on, options)) == "");
            CHECK(difference(host, upload(host)) == "");
          }
      }
  });
}

TEST_CASE("a planted difference of tiles is named") {
  const Coo x = skewed(3, 5000, DType::f32);
  const TileOptions options{.tile = 100};
  const Tiled good = to_tiled(x, options);
  const DeviceTiled made = to_tiled(DeviceCoo(x), options);
  Tiled f = good;
  std::swap(f.modes[1].walk[0], f.modes[1].walk[1]);
  CHECK(difference(f, made) == "walk of mode 1");
  f = good;
  std::swap(f.modes[2].leave[4], f.modes[2].leave[5]);
  CHECK(difference(f, made) == "leave of mode 2");
  f = good;
  ++f.modes[0].target.back();
  CHECK(difference(f, made) == "target of mode 0");
  f = good;
  f.modes[0].joined[1] ^= 1;
  CHECK(difference(f, made) == "joined of mode 0");
  f = good;
  f.modes[0].cut.pop_back();
  CHECK(difference(f, made) == "cut of mode 0");
  f = good;
  ++f.modes[1].fibers;
  CHECK(difference(f, made) == "fibers of mode 1");
  f = good;
  f.records[0][7] ^= 1;
  CHECK(difference(f, made) == "records 0");
}

TEST_CASE("the paper's format made on the device is that of the host") {
  for_each_order([](std::size_t order) {
    for (const std::uint32_t kappa : {1u, 7u, 132u, 3000u})
      SUBCASE(("kappa " + std::to_string(kappa)).c_str()) {
        check_paper_format(order, kappa);
      }
  });
}

TEST_CASE("the remapping of whole copies on the device is that of the host") {
  const Coo x = skewed(4, 20000, DType::f32);
  for (const auto ids : {Ids::record, Ids::stream}) {
    const Flycoo host = to_flycoo(x, {.kappa = 9, .ids = ids});
    const DeviceFlycoo made = upload(host);
    Array<std::uint32_t> records = host.records, next(records.size());
    for (int m = 0; m < host.order(); ++m) {
      const auto in = upload_records(records);
      auto out = zero_records(records.size());
      remap(host, m, records, next);
      remap(made, m, in.data(), out.data());
      CHECK(same_records(next, out));
      CHECK(!same_records(records, out));
      std::swap(records, next);
    }
  }
}

TEST_CASE("a planted difference of the paper's format is named") {
  const Coo x = skewed(3, 5000, DType::f32);
  const Options options{.kappa = 7, .ids = Ids::stream};
  const Flycoo good = to_flycoo(x, options);
  const DeviceFlycoo made = to_flycoo(DeviceCoo(x), options);
  Flycoo f = good;
  f.records[12] ^= 1;
  CHECK(difference(f, made) == "records");
  f = good;
  f.modes[1].part[3] ^= 1;
  CHECK(difference(f, made) == "partitions of mode 1");
  f = good;
  ++f.modes[2].heaviest;
  CHECK(difference(f, made) == "heaviest index of mode 2");
  f = good;
  ++f.modes[0].start[1];
  CHECK(difference(f, made) == "starts of mode 0");
  f = good;
  std::swap(f.streams[2][0], f.streams[2][1]);
  CHECK(difference(f, made) == "stream of mode 2");
}

TEST_CASE("what the device has no room for is refused with both numbers") {
  const DeviceCoo on(skewed(3, 4000000, DType::f32));
  constexpr Count kLeft = Count{128} << 20;  // of which 4 M nonzeros take more
  const Count free = device::memory().free_bytes;
  REQUIRE(free > kLeft);
  const device::Buffer<char> ballast(free - kLeft);
  // 24 bytes of streams, 24 of the sorts' arrays; the records, 8, come when these are gone.
  CHECK_THROWS_WITH_AS(to_tiled(on, {}), doctest::Contains("takes 192000000 bytes"), OutOfMemory);
  // 28 bytes of a record, 16 to make it, and 8 of each of 2000 indices.
  CHECK_THROWS_WITH_AS(to_flycoo(on, {}), doctest::Contains("takes 176016000 bytes"), OutOfMemory);
}

TEST_CASE("formats are made in 40 bytes a nonzero beside them, 16 of the coordinates included") {
  constexpr Count n = 4000000, length = 1000000;
  Coo x({length, length, length}, DType::f32, n);
  const CounterRng rng(7);
  for (std::size_t m = 0; m < 3; ++m)
    for (Count p = 0; p < n; ++p)
      x.indices[m][p] = static_cast<Index>(rng.below(3 * p + m, length));
  const DeviceCoo on(x);
  const auto fits = [&](Count left, const auto& make) {
    const device::Buffer<char> ballast(device::memory().free_bytes - left);
    try {
      make();
      return true;
    } catch (const OutOfMemory&) {
      return false;
    }
  };
  const auto check = [&](const auto& make) {
    const Count result = make().bytes();  // first without a limit, since kernels are loaded too
    CHECK(fits(result + 24 * n, make));
    CHECK(!fits(result + 2 * n, make));
  };
  check([&] { return to_tiled(on, {.remap = true}); });
  check([&] { return to_tiled(on, {.remap = false}); });
  check([&] { return to_flycoo(on, {.ids = Ids::record}); });
  check([&] { return to_flycoo(on, {.ids = Ids::stream}); });
}

TEST_CASE("records that are not back as they were are found") {
  std::vector<std::uint32_t> records(30000);
  for (std::size_t w = 0; w < records.size(); ++w) records[w] = static_cast<std::uint32_t>(w % 7);
  std::vector<RecordBuffer> first;
  first.push_back(upload_records(records));
  RunRecords run(std::move(first), 3);
  run.check_back();
  const auto send = [&](const std::vector<std::uint32_t>& words) {
    RETENSOR_CUDA_CHECK(
        cudaMemcpy(run.out(), words.data(), 4 * words.size(), cudaMemcpyHostToDevice));
    run.end_pass();
  };
  send(records);
  run.check_back();
  std::swap(records[11], records[29998]);
  send(records);
  CHECK_THROWS_AS(run.check_back(), LogicError);
  CHECK_THROWS_WITH_AS(run.in(1), "a pass over mode 1, but the tensor is in mode 2's order",
                       LogicError);
}
