// The layout of tiles.hpp on the device: uploaded, or made there. Included by .cu files alone.
#pragma once

#include <cstdint>
#include <vector>

#include "common/device/cuda.cuh"
#include "papers/flycoo/format/coo_device.cuh"
#include "papers/flycoo/format/records_device.cuh"
#include "papers/flycoo/format/tiles.hpp"

namespace retensor::flycoo {

/// A TiledMode on the device.
struct DeviceMode {
  device::Buffer<std::uint16_t> walk, leave;
  device::Buffer<std::uint32_t> target;
  device::Buffer<std::uint8_t> joined;
  device::Buffer<CutRow> cut;
  Count fibers = 0;
  Count bytes() const {
    return walk.bytes() + leave.bytes() + target.bytes() + joined.bytes() + cut.bytes();
  }
};

/// Tiled on the device; records are padded as upload_records does.
struct DeviceTiled : TiledShape {
  std::vector<DeviceMode> modes;
  std::vector<RecordBuffer> records;
  bool remaps() const { return records.size() < dims.size(); }
  Count bytes() const { return bytes_of(modes) + bytes_of(records); }
};

DeviceTiled upload(const Tiled& tensor);

/// The layout that to_tiled gives the same tensor on the host, by radix sorts on the device. Throws
/// as that does, and OutOfMemory where the device has less free than the layout takes on the way:
/// 24 bytes a nonzero in place of its last records, 4 beside them.
DeviceTiled to_tiled(const DeviceCoo& tensor, const TileOptions& options);

}  // namespace retensor::flycoo
