// The format of hls.hpp on the device: uploaded, or made there. Included by .cu files alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/device/cuda.cuh"
#include "common/tensor/coo.hpp"
#include "papers/hlsto/format/hls.hpp"

namespace retensor::hlsto {

/// A tensor in coordinate form on the device, of which HLS is made there.
struct DeviceCoo {
  /// Throws LogicError for double precision.
  explicit DeviceCoo(const Coo& x) : dims(x.dims), nnz(x.nnz()), values(x.values.as<float>()) {
    for (const auto& index : x.indices) indices.emplace_back(index);
  }

  Dims dims;
  Count nnz;
  std::vector<device::Buffer<Index>> indices;  ///< by mode
  device::Buffer<float> values;
};

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
