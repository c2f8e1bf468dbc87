// FLYCOO's formats made on the device beside those made on the host: every array, bit for bit.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "common/core/error.hpp"
#include "common/core/rng.hpp"
#include "common/device/device.hpp"
#include "papers/flycoo/device_records.cuh"
#include "papers/flycoo/tiles_cuda.cuh"

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

bool same_cut(const std::vector<CutRow>& host, const device::Buffer<CutRow>& on_device) {
  const std::vector<CutRow> there = on_device.to_host();
  return std::equal(host.begin(), host.end(), there.begin(), there.end(),
                    [](const CutRow& a, const CutRow& b) {
                      return a.row == b.row && a.first == b.first && a.last == b.last;
                    });
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
    if (!same_cut(a.cut, b.cut)) return "cut" + mode;
    if (a.fibers != b.fibers) return "fibers" + mode;
  }
  for (std::size_t k = 0; k < host.records.size(); ++k) {
    std::vector<std::uint32_t> padded(host.records[k].begin(), host.records[k].end());
    padded.resize(padded.size() + 4);
    if (!same(padded, made.records[k])) return "records " + std::to_string(k);
  }
  return "";
}

}  // namespace

TEST_CASE("tiles made on the device are those of the host") {
  for (std::size_t order = 2; order <= 6; ++order)
    for (const Count nnz : {Count{0}, Count{1}, Count{37}, Count{100000}})
      for (const DType dtype : {DType::f32, DType::f64}) {
        const Coo x = skewed(order, nnz, dtype);
        const DeviceCoo on(x);
        for (const bool remap : {true, false})
          for (const std::uint32_t tile : {4u, 1000u, 65536u}) {
            CAPTURE(order);
            CAPTURE(nnz);
            CAPTURE(tile);
            CAPTURE(remap);
            const TileOptions options{.tile = tile, .unit = 4, .processors = 3, .remap = remap};
            const Tiled host = to_tiled(x, options);
            CHECK(difference(host, to_tiled(on, options)) == "");
            CHECK(difference(host, upload(host)) == "");
          }
      }
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

TEST_CASE("tiles that the device has no room for are refused with both numbers") {
  const DeviceCoo on(skewed(3, 4000000, DType::f32));
  constexpr Count kLeft = Count{128} << 20;  // of which 4 M nonzeros take more
  const Count free = device::memory().free_bytes;
  REQUIRE(free > kLeft);
  const device::Buffer<char> ballast(free - kLeft);
  CHECK_THROWS_WITH_AS(to_tiled(on, {}), doctest::Contains("takes 224000000 bytes"), OutOfMemory);
}

TEST_CASE("records that are not back as they were are found") {
  std::vector<std::uint32_t> records(30000);
  for (std::size_t w = 0; w < records.size(); ++w) records[w] = static_cast<std::uint32_t>(w % 7);
  Copies copies(upload_records(records));
  copies.check_back();
  const auto send = [&](const std::vector<std::uint32_t>& words) {
    RETENSOR_CUDA_CHECK(
        cudaMemcpy(copies.out(), words.data(), 4 * words.size(), cudaMemcpyHostToDevice));
    copies.swap();
  };
  send(records);
  copies.check_back();
  std::swap(records[11], records[29998]);
  send(records);
  CHECK_THROWS_AS(copies.check_back(), LogicError);
}
