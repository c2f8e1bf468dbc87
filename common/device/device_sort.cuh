// Positions sorted by keys of 32 bits. Apart from the calls of CUB, because each source that
// includes it compiles the kernels of the sort. Included by .cu files alone.
#pragma once

#include <cstdint>

#include "common/device/cub.cuh"

namespace retensor::device {

/// Keys beside values, and the space that sorting them takes. Whoever takes one of the arrays away
/// leaves another as long.
struct DeviceSort {
  explicit DeviceSort(std::uint32_t count)
      : n(count), keys(n), values(n), spare_keys(n), spare_values(n) {}

  /// Sorts stably by the lowest `bits` bits of the keys.
  void sort(int bits) {
    if (n > 0 && bits > 0) cub.sort(n, bits, keys, values, spare_keys, spare_values, nullptr);
  }

  std::uint32_t n;
  Buffer<std::uint32_t> keys, values, spare_keys, spare_values;
  Cub cub;
};

}  // namespace retensor::device
