// Loops over positions, sums over them and sorts on the device, of which the formats are made
// there; all on the default stream. Included by .cu files alone.
#pragma once

#include <cstdint>
#include <utility>

#include <cub/device/device_radix_sort.cuh>

#include "common/device/cuda.cuh"

namespace retensor::flycoo {

inline constexpr unsigned kLoopThreads = 256;

template <class F>
__global__ void loop(Count n, F f) {
  const Count step = static_cast<Count>(gridDim.x) * blockDim.x;
  for (Count i = static_cast<Count>(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += step) f(i);
}

template <class F>
__global__ void add_up(Count n, F f, unsigned long long* sum) {
  const Count step = static_cast<Count>(gridDim.x) * blockDim.x;
  unsigned long long mine = 0;
  for (Count i = static_cast<Count>(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += step)
    mine += f(i);
  atomicAdd(sum, mine);
}

/// Calls f(i) for every i below n, in any order.
template <class F>
void for_each(Count n, F f) {
  constexpr Count kMostBlocks = 1 << 16;
  if (n == 0) return;
  RETENSOR_CUDA_LAUNCH(loop<F>, device::blocks_for(n, kLoopThreads, kMostBlocks), kLoopThreads, 0,
                       nullptr, n, f);
}

/// Adds f(i) for every i below n to *sum, which lies on the device.
template <class F>
void add_each(Count n, F f, unsigned long long* sum) {
  constexpr Count kMostBlocks = 1024;  // each thread adds to the sum once
  if (n == 0) return;
  RETENSOR_CUDA_LAUNCH(add_up<F>, device::blocks_for(n, kLoopThreads, kMostBlocks), kLoopThreads, 0,
                       nullptr, n, f, sum);
}

/// Keys beside values, and the space that sorting them takes. Whoever takes one of the arrays away
/// leaves another as long.
struct DeviceSort {
  explicit DeviceSort(std::uint32_t count)
      : n(count), keys(n), values(n), spare_keys(n), spare_values(n), scratch(sort_bytes(32)) {}

  /// Sorts stably by the lowest `bits` bits of the keys.
  void sort(int bits) {
    if (n == 0 || bits == 0) return;
    cub::DoubleBuffer<std::uint32_t> k(keys.data(), spare_keys.data());
    cub::DoubleBuffer<std::uint32_t> v(values.data(), spare_values.data());
    std::size_t bytes = scratch.size();
    RETENSOR_CUDA_CHECK(cub::DeviceRadixSort::SortPairs(scratch.data(), bytes, k, v, n, 0, bits));
    if (k.Current() != keys.data()) std::swap(keys, spare_keys);
    if (v.Current() != values.data()) std::swap(values, spare_values);
  }

  std::uint32_t n;
  device::Buffer<std::uint32_t> keys, values, spare_keys, spare_values;
  device::Buffer<unsigned char> scratch;

 private:
  Count sort_bytes(int bits) const {
    cub::DoubleBuffer<std::uint32_t> none;
    std::size_t bytes = 0;
    RETENSOR_CUDA_CHECK(cub::DeviceRadixSort::SortPairs(nullptr, bytes, none, none, n, 0, bits));
    return bytes;
  }
};

}  // namespace retensor::flycoo
