// The format of hls.hpp on the device, uploaded or made there, and with the chain as kernels get
// it. Included by .cu files alone.
#pragma once

#include <cstddef>
#include <cstdint>

#include "common/device/cuda.cuh"
#include "common/numeric/stored.cuh"
#include "common/run/coo_device.cuh"
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
/// does, for more than kMostOnDevice nonzeros and for tiles and cells of more than 128 bits, and
/// LogicError for double precision.
DeviceHls to_hls(const DeviceCoo& tensor, const Options& options);

inline constexpr int kMaxFactors = 5;

/// Bits of a linear index.
struct BitField {
  int shift = 0, width = 0;
};

/// A factor in single precision and, where it is tiled, as an operand of the tensor core: rows
/// padded by zeros to whole tiles, columns to whole fragments.
struct DeviceFactor {
  const float* rows = nullptr;
  const void* operand[2] = {};  ///< of split operands the high and the low half
  unsigned columns = 0, operand_columns = 0;
  Count stride = 0;  ///< in a row of the result
};

/// HLS and the chain as kernels get them. Places 0 to 2 of a tile's index are the tiled modes, then
/// the kept ones.
struct DeviceChain {
  const std::uint32_t* tile_index = nullptr;
  const std::uint32_t* bitmap = nullptr;
  const Count* value_start = nullptr;
  const void* dense_values = nullptr;
  const std::uint32_t* nonzero_index = nullptr;
  const void* sparse_values = nullptr;
  ValueType values = ValueType::f16;
  Count tiles = 0, nonzeros = 0;
  int tile_words = 1, nonzero_words = 1;
  BitField place[kMaxFactors], index[kMaxFactors];  ///< of a tile, of a nonzero
  DeviceFactor factor[kMaxFactors];                 ///< by mode
  int mode_at[kMaxFactors] = {};                    ///< mode of each place
  int order = 0, mode = 0;
  int edge_bits = 4;
  int slice = 0, row = 1, column = 2;  ///< roles of the tiled places
  int output_place = 0;
  bool kronecker = false;
  Count width = 0;         ///< of the result
  Count slice_length = 0;  ///< of the mode of the slices
  float* out = nullptr;
};

/// Algorithm 2 for any number of bits.
__device__ inline Index decode(const std::uint32_t* key, BitField field) {
  if (field.width == 0) return 0;
  const int word = field.shift / 32, shift = field.shift % 32;
  const std::uint32_t high = shift + field.width > 32 ? key[word + 1] : 0;
  const std::uint32_t bits = __funnelshift_r(key[word], high, shift);
  return field.width == 32 ? bits : bits & ((1u << field.width) - 1);
}

}  // namespace retensor::hlsto
