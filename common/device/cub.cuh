// Calls of CUB with the scratch that they ask for, and what callers of its sorts and selections
// share. Included by .cu files alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include <cub/device/device_radix_sort.cuh>

#include "common/device/cuda.cuh"

namespace retensor::device {

/// Runs call(scratch, bytes) twice, as CUB wants it: without scratch to learn the bytes, then with.
template <class Call>
void with_scratch(Call&& call) {
  std::size_t bytes = 0;
  RETENSOR_CUDA_CHECK(call(nullptr, bytes));
  device::Buffer<unsigned char> scratch(bytes);
  RETENSOR_CUDA_CHECK(call(scratch.data(), bytes));
}

/// Whether a position's key differs from the one before in the bits from `shift` on.
template <class Key>
struct Begins {
  const Key* keys;
  int shift;
  __host__ __device__ bool operator()(std::uint32_t p) const {
    return p == 0 || keys[p] >> shift != keys[p - 1] >> shift;
  }
};

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

}  // namespace retensor::device
