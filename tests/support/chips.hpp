// The limits of chips, from the table of technical specifications per compute capability in the
// CUDA programming guide; multiprocessors of the product named.
#pragma once

#include <array>

#include "common/device/device.hpp"

namespace retensor::test {

struct Chip {
  const char* name;
  device::Limits limits;
};

inline constexpr Count kKibi = 1024;

/// A block gets all of a multiprocessor's shared memory but for the KiB that each takes besides.
constexpr device::Limits limits_of(int sms, Count shared_kib, Count threads_per_sm) {
  return {sms, shared_kib * kKibi, (shared_kib - 1) * kKibi, kKibi, 65536, threads_per_sm};
}
inline constexpr device::Limits kH200 = limits_of(132, 228, 2048);
inline constexpr std::array<Chip, 4> kChips{{{"sm_80, A100", limits_of(108, 164, 2048)},
                                             {"sm_86, A40", limits_of(84, 100, 1536)},
                                             {"sm_90, H200", kH200},
                                             {"sm_120, RTX 5090", limits_of(170, 100, 1536)}}};

}  // namespace retensor::test
