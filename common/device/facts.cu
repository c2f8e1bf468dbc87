// What the device is, whether this build can use it, and the state that the timing loop needs:
// memory, clock, a cold cache.
#include "common/device/device.hpp"

#include <fstream>

#include "common/device/cuda.cuh"

namespace retensor::device {
namespace {

__global__ void probe() {}

__device__ std::uint64_t global_nanoseconds() {
  std::uint64_t t = 0;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(t));
  return t;
}

/// Waits until the global timer moves on or `cycles` have passed; its reading then.
__device__ std::uint64_t next_tick(std::uint64_t now, long long cycles) {
  const long long begin = clock64();
  std::uint64_t t = global_nanoseconds();
  while (t == now && clock64() - begin < cycles) t = global_nanoseconds();
  return t;
}

/// Cycles and nanoseconds between two ticks of the global timer at least `nanoseconds` apart. The
/// timer's ticks are coarse, so both ends lie on a tick; `limit` cycles bound the wait.
__global__ void time_cycles(std::uint64_t nanoseconds, long long limit, std::uint64_t* out) {
  const std::uint64_t t0 = next_tick(global_nanoseconds(), limit);
  const long long c0 = clock64();
  std::uint64_t t1 = t0;
  long long c1 = c0;
  while (t1 - t0 < nanoseconds && c1 - c0 < limit) {
    t1 = next_tick(t1, limit);
    c1 = clock64();
  }
  out[0] = static_cast<std::uint64_t>(c1 - c0);
  out[1] = t1 - t0;
}

int attribute(cudaDeviceAttr what, int device) {
  int value = 0;
  RETENSOR_CUDA_CHECK(cudaDeviceGetAttribute(&value, what, device));
  return value;
}

int current_device() {
  int device = 0;
  RETENSOR_CUDA_CHECK(cudaGetDevice(&device));
  return device;
}

std::string version_text(int v) {
  return std::to_string(v / 1000) + "." + std::to_string(v % 1000 / 10);
}

/// The kernel driver's version such as 580.159.03, else the CUDA version that the driver speaks.
std::string driver_text() {
  std::ifstream in("/sys/module/nvidia/version");
  std::string version;
  if (in >> version) return version;
  int api = 0;
  RETENSOR_CUDA_CHECK(cudaDriverGetVersion(&api));
  return "CUDA " + version_text(api);
}

Availability not_available(const std::string& what, cudaError_t status) {
  cudaGetLastError();
  return {false, what + ": " + cudaGetErrorString(status)};
}

}  // namespace

Availability available() {
  int count = 0;
  if (const auto status = cudaGetDeviceCount(&count); status != cudaSuccess)
    return not_available("no usable NVIDIA driver or device", status);
  if (count == 0) return {false, "no NVIDIA device"};
  cudaFuncAttributes attributes{};
  if (const auto status = cudaFuncGetAttributes(&attributes, probe); status != cudaSuccess)
    return not_available("the device's architecture is not compiled in", status);
  return {true, ""};
}

DeviceFacts facts() {
  if (const auto a = available(); !a.ok) throw DeviceError(a.reason);
  const int device = current_device();
  cudaDeviceProp properties{};
  RETENSOR_CUDA_CHECK(cudaGetDeviceProperties(&properties, device));
  int runtime = 0;
  RETENSOR_CUDA_CHECK(cudaRuntimeGetVersion(&runtime));
  DeviceFacts f;
  f.name = properties.name;
  f.major = properties.major;
  f.minor = properties.minor;
  f.sms = properties.multiProcessorCount;
  f.memory_bytes = properties.totalGlobalMem;
  f.l2_bytes = static_cast<Count>(properties.l2CacheSize);
  f.shared_per_sm = properties.sharedMemPerMultiprocessor;
  f.shared_per_block = properties.sharedMemPerBlockOptin;
  f.shared_reserved = properties.reservedSharedMemPerBlock;
  f.registers_per_sm = static_cast<Count>(properties.regsPerMultiprocessor);
  f.threads_per_sm = static_cast<Count>(properties.maxThreadsPerMultiProcessor);
  f.sm_clock_mhz = attribute(cudaDevAttrClockRate, device) / 1e3;
  f.memory_clock_mhz = attribute(cudaDevAttrMemoryClockRate, device) / 1e3;
  f.memory_bus_bits = attribute(cudaDevAttrGlobalMemoryBusWidth, device);
  f.driver = driver_text();
  f.runtime = version_text(runtime);
  return f;
}

Memory memory() {
  std::size_t free_bytes = 0, total_bytes = 0;
  RETENSOR_CUDA_CHECK(cudaMemGetInfo(&free_bytes, &total_bytes));
  return {free_bytes, total_bytes};
}

void flush_cache() {
  const auto l2 = static_cast<Count>(attribute(cudaDevAttrL2CacheSize, current_device()));
  Buffer<unsigned char> sweep(2 * l2);
  sweep.zero(nullptr);
  RETENSOR_CUDA_CHECK(cudaStreamSynchronize(nullptr));
}

double sm_clock_mhz() {
  constexpr std::uint64_t kNanoseconds = 300'000;
  constexpr long long kLimit = 10'000'000;  // 5 ms at 2 GHz
  Buffer<std::uint64_t> out(2);
  RETENSOR_CUDA_LAUNCH(time_cycles, 1, 1, 0, nullptr, kNanoseconds, kLimit, out.data());
  const auto measured = out.to_host();
  return measured[1] == 0
             ? 0
             : 1e3 * static_cast<double>(measured[0]) / static_cast<double>(measured[1]);
}

}  // namespace retensor::device
