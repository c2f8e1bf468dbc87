// One nonzero more than 32 bits count, made by the device where its memory has the room.
#pragma once

#include <doctest/doctest.h>

#include "common/core/types.hpp"
#include "common/device/device.hpp"

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

}  // namespace retensor::test
