// Groups of fibers (fiber_groups.hpp) made on the device from coordinates there: the arrays have
// the bits of those of the host. Included by .cu files alone.
#pragma once

#include <cstdint>
#include <vector>

#include "common/run/coo_device.cuh"
#include "papers/hlsto/format/fiber_groups.hpp"

namespace retensor::hlsto {

/// FiberGroups with its large arrays on the device.
struct DeviceFiberGroups {
  GroupOptions options;
  std::vector<int> uppers;
  device::Buffer<std::uint16_t> code, selector;
  device::Buffer<std::uint32_t> value, rest, first;
  device::Buffer<Index> row, upper;
  std::vector<std::uint32_t> first_steps;  ///< `first`
  std::vector<std::uint32_t> segment;

  Count groups() const { return row.size(); }
  Count steps() const { return first_steps.back(); }
};

/// As longest_fibers(Coo) has them.
std::vector<int> longest_fibers(const DeviceCoo& x);

/// Of a tensor of fewer than 2^32 nonzeros that to_fiber_groups(Coo) takes.
DeviceFiberGroups to_fiber_groups(const DeviceCoo& x, const GroupOptions& options);

}  // namespace retensor::hlsto
