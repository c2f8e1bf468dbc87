// Kernels and calls that fail on purpose.
#include "tests/gpu/faults.hpp"

#include "common/device/cuda.cuh"

namespace retensor::test {
namespace {

__global__ void write_to(int* where) {
  *where = 1;
}

__global__ void wait_for(std::uint64_t nanoseconds) {
  std::uint64_t begin = 0, now = 0;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(begin));
  do asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
  while (now - begin < nanoseconds);
}

}  // namespace

void take_all_memory() {
  device::Buffer<char> all(Count{1} << 50);
}

void touch_illegal_address() {
  RETENSOR_CUDA_LAUNCH(write_to, 1, 1, 0, nullptr, reinterpret_cast<int*>(64));
}

void spin() {
  // Bounded: should the process survive its kill, the device is free again soon.
  RETENSOR_CUDA_LAUNCH(wait_for, 1, 1, 0, nullptr, std::uint64_t{30'000'000'000});
}

}  // namespace retensor::test
