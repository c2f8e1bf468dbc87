// The format of format.hpp on the device: uploaded, or made there of coordinates. Included by .cu
// files alone.
//
// In place of the offset of a block's values it has that of each word of the bitmap, so that a
// thread finds the value of any bit by one popcount: 4 bytes a word of 64 bits. Words without a bit
// have none: nothing reads their offset.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/numeric/tensor_core.hpp"
#include "papers/bcb_sptc/device_tools.cuh"
#include "papers/bcb_sptc/format.hpp"

namespace retensor::bcb_sptc {

struct DeviceBcb {
  DeviceBcb(const Dims& mode_lengths, const Options& given, Count block_count, Count nonzeros);

  Dims dims;
  Options options;
  Grid grid;
  Count blocks, nnz;
  Buffer<std::uint32_t> block_index;  ///< words_for(grid.block_index().bits()) words a block
  Buffer<std::uint64_t> bitmap;
  Buffer<std::uint32_t> word_start;  ///< first value of each word of the bitmap
  Buffer<std::byte> values;

  int index_words() const { return words_for(grid.block_index().bits()); }
  Count bytes() const {
    return block_index.bytes() + bitmap.bytes() + word_start.bytes() + values.bytes();
  }
};

/// A tensor in coordinates on the device.
struct DeviceCoo {
  /// Throws LogicError for double precision.
  explicit DeviceCoo(const Coo& x) : dims(x.dims), nnz(x.nnz()), values(x.values.as<float>()) {
    for (const auto& index : x.indices) indices.emplace_back(index);
  }

  Dims dims;
  Count nnz;
  std::vector<Buffer<Index>> indices;  ///< by mode
  Buffer<float> values;
};

/// Throws InputError for 2^32 and more nonzeros.
DeviceBcb upload(const Bcb& bcb);
/// The format that to_bcb gives the same tensor on the host, bit for bit. Throws InputError as it
/// does, and for 2^32 and more nonzeros.
DeviceBcb to_bcb(const DeviceCoo& tensor, const Options& options);

/// The values as the tensor core takes them: patterns of fp16 or bf16, single precision rounded to
/// tf32, or two halves in 32 bits, the first in the low 16. Empty where they are stored so.
Buffer<std::byte> operands_of(const DeviceBcb& bcb, Arithmetic arithmetic);

/// A field of a linear index of 32, 64 or 128 bits.
struct Field {
  int shift = 0, width = 0;
};

__host__ __device__ inline Uint128 load_index(const std::uint32_t* indices, int words, Count p) {
  Uint128 index = 0;
  for (int w = words; w-- > 0;)
    index = index << 32 | indices[p * static_cast<Count>(words) + static_cast<Count>(w)];
  return index;
}
__host__ __device__ inline Index decode(Uint128 index, Field field) {
  return field.width == 0
             ? 0
             : static_cast<Index>(index >> field.shift & ((Uint128{1} << field.width) - 1));
}

}  // namespace retensor::bcb_sptc
