// A contraction's nonzeros by contracted coordinate, for results whose rows have sums for all their
// cells: a format of the project's own. Included by .cu files alone.
//
// The nonzeros of y that agree in the contracted coordinate stand together ("group"), the last one
// marked. Those of x stand by range of rows of the result and, in a range, by contracted
// coordinate; each names the first of its group and the first cell of its row among those of the
// range, which are numbered row by row: 12 bytes a nonzero of x, 8 a nonzero of y.
#pragma once

#include <cstdint>

#include "common/device/pool.cuh"
#include "common/method/problem.hpp"
#include "papers/bcb_sptc/format/bcb_device.cuh"
#include "papers/bcb_sptc/format/grouped.hpp"

namespace retensor::bcb_sptc {

/// Of a nonzero of y.
struct Partner {
  static constexpr std::uint32_t kLast = std::uint32_t{1} << 31;
  std::uint32_t column;  ///< of the result, with kLast at the last of its group
  float value;
};
/// Instead of the first partner where there is none.
inline constexpr std::uint32_t kNoPartner = 0xffffffffu;

struct GroupedOperands {
  /// Throws LogicError for a result of too many cells or keys of too many bits, OutOfMemory.
  explicit GroupedOperands(const Problem& problem);
  /// The same of tensors on the device.
  GroupedOperands(const Contraction& contraction, const CooView& x, const CooView& y);

  Count bytes() const {
    return range_start.bytes() + x_first.bytes() + x_cell.bytes() + x_value.bytes() +
           partner.bytes();
  }

  Contraction modes;
  CellRanges cells;
  device::PoolBuffer<std::uint32_t> range_start;  ///< first nonzero of x of each range, and the end
  device::PoolBuffer<std::uint32_t> x_first, x_cell;
  device::PoolBuffer<float> x_value;
  device::PoolBuffer<Partner> partner;
};

}  // namespace retensor::bcb_sptc
