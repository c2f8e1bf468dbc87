// The format of hls.hpp on the device: uploaded, or made there. Included by .cu files alone.
#pragma once

#include <cstddef>
#include <cstdint>

#include "common/device/cuda.cuh"
#include "papers/hlsto/format/coo_device.cuh"
#include "papers/hlsto/format/hls.hpp"

namespace retensor::hlsto {

/// Hls on the device, with the same elements; values are padded by zeros to whole vectors of 16
/// bytes.
struct DeviceHls : HlsShape {
  /// Arrays of the lengths that the shape gives, uninitialised but for the values.
  explicit DeviceHls(const HlsShape& shape);

  device::Buffer<std::uint32_t> tile_index;
  device::Buffer<std::uint32_t> bitmap;  ///< bit c % 32 of word c / 32
  device::Buffer<Count> value_start;
  device::Buffer<std::byte> dense_values;
  device::Buffer<std::uint32_t> nonzero_index;
  device::Buffer<std::byte> sparse_values;
};

DeviceHls upload(const Hls& hls);

/// The format that to_hls gives the same tensor on the host, bit for bit. Throws InputError as Grid
/// does, for more than kMostOnDevice nonzeros and for tiles and cells of more than 128 bits.
DeviceHls to_hls(const DeviceCoo& tensor, const Options& options);

}  // namespace retensor::hlsto
