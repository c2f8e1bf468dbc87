// Buffers, launches, the event timer and errors of the device layer.
#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "common/device/cuda.cuh"
#include "common/device/device.hpp"

using namespace retensor;

namespace {

__global__ void increment(Count n, int* data) {
  const Count i = static_cast<Count>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < n) data[i] += 1;
}

std::vector<int> incremented(std::vector<int> host) {
  device::Buffer<int> buffer(host);
  RETENSOR_CUDA_LAUNCH(increment, device::blocks_for(host.size(), 128), 128, 0, nullptr,
                       host.size(), buffer.data());
  return buffer.to_host();
}

void launch_too_large_a_block() {
  RETENSOR_CUDA_LAUNCH(increment, 1, 4096, 0, nullptr, 0, nullptr);
}

}  // namespace

TEST_CASE("what is uploaded is changed and comes back") {
  std::vector<int> host(1001);
  std::iota(host.begin(), host.end(), 0);
  const auto back = incremented(host);
  for (std::size_t i = 0; i < host.size(); ++i) CHECK(back[i] == host[i] + 1);
}

TEST_CASE("buffers zero, move, may be empty and refuse what does not fit") {
  device::Buffer<double> buffer(std::vector<double>(100, 3.5));
  CHECK(buffer.bytes() == 800);
  buffer.zero(nullptr);
  CHECK(buffer.to_host() == std::vector<double>(100, 0.0));
  device::Buffer<double> moved(std::move(buffer));
  CHECK(moved.size() == 100);
  CHECK(buffer.size() == 0);
  buffer = std::move(moved);
  CHECK(buffer.size() == 100);
  CHECK(device::Buffer<int>(0).to_host().empty());
  std::vector<double> large(101);
  CHECK_THROWS_AS(buffer.upload(large), LogicError);
  CHECK_THROWS_AS(buffer.download(large), LogicError);
}

TEST_CASE("memory that does not suffice is OutOfMemory and the device stays usable") {
  const auto before = device::memory();
  CHECK(before.total_bytes >= before.free_bytes);
  CHECK_THROWS_AS(device::Buffer<char>(2 * before.total_bytes), OutOfMemory);
  CHECK_THROWS_AS(device::Buffer<double>(~Count{0}), OutOfMemory);
  CHECK(incremented({1, 2}) == std::vector<int>{2, 3});
  const device::Buffer<char> held(Count{256} << 20);
  CHECK(device::memory().free_bytes <= before.free_bytes);
}

TEST_CASE("a refused launch is a DeviceError that names kernel and place") {
  std::string message;
  try {
    launch_too_large_a_block();
  } catch (const DeviceError& e) {
    message = e.what();
  }
  CHECK(message.find("device_test.cu:") != std::string::npos);
  CHECK(message.find("launch of increment") != std::string::npos);
  CHECK(incremented({5}) == std::vector<int>{6});
}

TEST_CASE("the event timer keeps stages apart and can be used again") {
  const auto timer = device::make_event_timer();
  const auto stream = static_cast<cudaStream_t>(timer->stream());
  REQUIRE(stream != nullptr);
  device::Buffer<int> data(std::vector<int>(1000));
  const auto work = [&] {
    RETENSOR_CUDA_LAUNCH(increment, 8, 128, 0, stream, data.size(), data.data());
  };
  for (int run = 0; run < 3; ++run) {
    timer->start();
    timer->stage("zero");
    work();
    timer->stage("kernel");
    work();
    timer->stage("zero");
    work();
    const auto stages = timer->stop();
    REQUIRE(stages.size() == 2);
    CHECK(stages[0].first == "zero");
    CHECK(stages[1].first == "kernel");
    CHECK(stages[0].second > 0);
    CHECK(stages[1].second > 0);
  }
  timer->start();
  work();
  const auto stages = timer->stop();
  REQUIRE(stages.size() == 1);
  CHECK(stages[0].first == "kernel");
  CHECK(stages[0].second > 0);
  CHECK(data.to_host() == std::vector<int>(1000, 10));
}

TEST_CASE("a run may announce 64 stages and no more") {
  const auto timer = device::make_event_timer();
  timer->start();
  for (int k = 0; k < 64; ++k) timer->stage("stage");
  CHECK_THROWS_AS(timer->stage("one more"), LogicError);
  timer->start();
  for (int k = 0; k < 64; ++k) timer->stage("stage" + std::to_string(k));
  CHECK(timer->stop().size() == 64);
}
