// Orders by the output's rows of HLS on the device. Included by .cu files alone.
#pragma once

#include <cstdint>
#include <span>

#include "common/device/cuda.cuh"
#include "papers/hlsto/format/hls_device.cuh"

namespace retensor::hlsto {

/// The dense tiles by their places along tiled mode k (0 to 2), else as stored.
device::Buffer<std::uint32_t> tiles_by_place(const DeviceHls& hls, int k);

/// Puts the sparse nonzeros, fewer than 2^32, in the order of their indices along the first of
/// `modes`, then along the next, else as stored.
void sort_sparse(DeviceHls& hls, std::span<const int> modes);

}  // namespace retensor::hlsto
