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
inline constexpr device::Limits kH200{.sms = 132,
                                      .shared_per_sm = 228 * kKibi,
                                      .shared_per_block = 227 * kKibi,
                                      .shared_reserved = kKibi,
                                      .registers_per_sm = 65536,
                                      .threads_per_sm = 2048};
inline constexpr std::array<Chip, 4> kChips{{{"sm_80, A100",
                                              {.sms = 108,
                                               .shared_per_sm = 164 * kKibi,
                                               .shared_per_block = 163 * kKibi,
                                               .shared_reserved = kKibi,
                                               .registers_per_sm = 65536,
                                               .threads_per_sm = 2048}},
                                             {"sm_86, A40",
                                              {.sms = 84,
                                               .shared_per_sm = 100 * kKibi,
                                               .shared_per_block = 99 * kKibi,
                                               .shared_reserved = kKibi,
                                               .registers_per_sm = 65536,
                                               .threads_per_sm = 1536}},
                                             {"sm_90, H200", kH200},
                                             {"sm_120, RTX 5090",
                                              {.sms = 170,
                                               .shared_per_sm = 100 * kKibi,
                                               .shared_per_block = 99 * kKibi,
                                               .shared_reserved = kKibi,
                                               .registers_per_sm = 65536,
                                               .threads_per_sm = 1536}}}};

}  // namespace retensor::test
