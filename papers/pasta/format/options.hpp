// What the methods' parameters ask of HiCOO.
#pragma once

#include <bit>

#include "common/method/params.hpp"

namespace retensor::pasta {

/// log2 of `block`.
inline int block_bits(const Params& params) {
  return std::countr_zero(static_cast<std::uint64_t>(params.integer("block")));
}

}  // namespace retensor::pasta
