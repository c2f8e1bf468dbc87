// One nonzero more than 32 bits count, made by the device where its memory has the room.
#pragma once

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include "common/core/types.hpp"
#include "common/device/device.hpp"
#include "common/device/loops.cuh"

namespace retensor::test {

inline constexpr Count kManyNonzeros = (Count{1} << 32) + 1;

/// Pseudo-random bits of a nonzero.
__device__ inline Count bits_of(Count x) {
  x = (x ^ (x >> 31)) * 0x7fb5d329728ea185ull;
  x = (x ^ (x >> 27)) * 0x81dadef4bc2dd44dull;
  return x ^ (x >> 33);
}

/// Whether as many bytes a nonzero and 2 GiB are free; says so where they are not.
inline bool has_room_for_many(Count bytes) {
  const Count needed = kManyNonzeros * bytes + (Count{2} << 30), free = device::memory().free_bytes;
  if (free < needed)
    MESSAGE("skipped: " << free << " bytes of device memory are free, expected " << needed);
  return free >= needed;
}

/// Elements of a factor: quarters of 1 to 7.
inline std::vector<float> factor_of(Count elements) {
  std::vector<float> rows(elements);
  for (Count k = 0; k < elements; ++k) rows[k] = 0.25f * static_cast<float>(1 + k % 7);
  return rows;
}

/// One row in `every` of MTTKRP of a matrix in fp64, by the law of its nonzeros and not by what is
/// stored.
template <class Nonzero>
__global__ void expect_rows(const float* factor, unsigned rank, unsigned every, double* rows) {
  device::for_each_of_grid(kManyNonzeros, [&](Count x) {
    const Nonzero z(x);
    if (z.row % every != 0) return;
    for (unsigned r = 0; r < rank; ++r)
      atomicAdd(rows + z.row / every * rank + r,
                static_cast<double>(z.value) * static_cast<double>(factor[z.column * rank + r]));
  });
}

/// Rows of `rank` sums beside those that were summed in fp64, of which there is one in `every`.
/// Each addition may be off by `rounding`.
inline void check_rows(const std::vector<double>& expected, const std::vector<float>& found,
                       unsigned rank, Count every, double rounding = 6e-8) {
  for (Count k = 0; k < expected.size(); ++k) {
    const double right = expected[k];
    CHECK(right > 0);
    // About 4096 additions of numbers of one sign.
    CHECK(std::abs(found[k / rank * every * rank + k % rank] - right) <= 4096 * rounding * right);
  }
}

}  // namespace retensor::test
