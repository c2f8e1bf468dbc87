// The format of bcb.hpp on the device: uploaded, or made there of coordinates. Included by .cu
// files alone.
//
// In place of the offset of a block's values it has that of each word of the bitmap, so that a
// thread finds the value of any bit by one popcount: 4 bytes a word of 64 bits. Words without a bit
// have none: nothing reads their offset.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include "common/numeric/tensor_core.hpp"
#include "common/run/coo_device.cuh"
#include "papers/bcb_sptc/format/operands.hpp"
#include "papers/bcb_sptc/format/tools_device.cuh"

namespace retensor::bcb_sptc {

struct DeviceBcb {
  DeviceBcb(const Dims& mode_lengths, const Options& given, Count block_count, Count nonzeros);

  Dims dims;
  Options options;
  Grid grid;
  Count blocks, nnz;
  bool is_packed = true;              ///< block_index; else a coordinate a mode, in grid.modes()
  Buffer<std::uint32_t> block_index;  ///< index_words() a block
  Buffer<std::uint64_t> bitmap;
  Buffer<std::uint32_t> word_start;  ///< first value of each word of the bitmap
  Buffer<std::byte> values;

  int index_words() const {
    return is_packed ? words_for(grid.block_index().bits()) : grid.order();
  }
  Count bytes() const {
    return block_index.bytes() + bitmap.bytes() + word_start.bytes() + values.bytes();
  }
};

/// A tensor in coordinates: where its arrays lie on the device.
struct CooView {
  Dims dims;
  Count nnz;
  std::vector<const Index*> indices;  ///< by mode
  const float* values;
};

/// Throws LogicError for double precision.
CooView view_of(const DeviceCoo& x);

/// Both operands of a contraction in coordinates; a tensor with itself is copied once.
class DeviceCoos {
 public:
  DeviceCoos(const Coo& x, const Coo& y) : x_(x) {
    if (&x != &y) y_.emplace(y);
  }
  CooView x() const { return view_of(x_); }
  CooView y() const { return view_of(y_ ? *y_ : x_); }

 private:
  DeviceCoo x_;
  std::optional<DeviceCoo> y_;
};

/// A tensor's nonzeros by block and, inside a block, by cell: what conversion and counting begin
/// with. Stable, so that nonzeros of one coordinate stay in the order of the input.
struct SortedNonzeros {
  /// Throws InputError as to_bcb does on the host, and for 2^32 and more nonzeros.
  SortedNonzeros(const CooView& tensor, const Options& given);

  Dims dims;
  Options options;
  Grid grid;
  Count nnz;
  std::variant<Buffer<std::uint64_t>, Buffer<Uint128>> keys;  ///< block above cell
  Buffer<float> values;
};

struct SortedOperands {
  SortedOperands(const DeviceCoos& tensors, const OperandOptions& options)
      : x(tensors.x(), options.x), y(tensors.y(), options.y) {}
  SortedNonzeros x, y;
};

/// Pairs of blocks that agree in the contracted part, found without making blocks; with blocks of
/// one cell the products of two different coordinates.
Count count_pairs(const SortedOperands& operands);

/// Throws InputError for 2^32 and more nonzeros.
DeviceBcb upload(const Bcb& bcb);
/// The format that to_bcb gives the same tensor on the host, bit for bit.
DeviceBcb to_bcb(const SortedNonzeros& tensor);

/// Block indices as coordinates, which a packed index replaces (section III.B).
void unpack_index(DeviceBcb& bcb);

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

/// The parts of a block's index, as Grid has them.
struct IndexParts {
  explicit IndexParts(const Grid& grid) {
    for (int k = grid.leading(); k < grid.order(); ++k)
      trailing_bits += grid.block_index().width(k);
  }
  __host__ __device__ Uint128 leading(Uint128 block) const {
    return trailing_bits == 128 ? 0 : block >> trailing_bits;
  }
  __host__ __device__ Uint128 trailing(Uint128 block) const {
    return trailing_bits == 128 ? block : block & ((Uint128{1} << trailing_bits) - 1);
  }

  int trailing_bits = 0;
};

/// Coordinates of a block in some modes, by lexicographic order.
struct BlockCoordinates {
  const std::uint32_t* at;
  int modes;

  __host__ __device__ bool operator<(BlockCoordinates other) const {
    for (int k = 0; k < modes; ++k)
      if (at[k] != other.at[k]) return at[k] < other.at[k];
    return false;
  }
  __host__ __device__ bool operator==(BlockCoordinates other) const {
    for (int k = 0; k < modes; ++k)
      if (at[k] != other.at[k]) return false;
    return true;
  }
};

/// Block indices in their two parts.
struct Indices {
  explicit Indices(const DeviceBcb& bcb)
      : data(bcb.block_index.data()),
        words(bcb.index_words()),
        are_packed(bcb.is_packed),
        order(bcb.grid.order()),
        leading_modes(bcb.grid.leading()),
        parts(bcb.grid) {
    for (int k = 0; k < order; ++k) shift[k] = bcb.grid.block_index().shift(k);
  }
  /// The linear index.
  __host__ __device__ Uint128 at(Count b) const {
    if (are_packed) return load_index(data, words, b);
    Uint128 index = 0;
    for (int k = 0; k < order; ++k) index |= Uint128{coordinates(b)[k]} << shift[k];
    return index;
  }
  __host__ __device__ Uint128 leading(Count b) const { return parts.leading(at(b)); }
  __host__ __device__ Uint128 trailing(Count b) const { return parts.trailing(at(b)); }
  /// Of indices that are not packed.
  __host__ __device__ BlockCoordinates leading_coordinates(Count b) const {
    return {coordinates(b), leading_modes};
  }
  __host__ __device__ BlockCoordinates trailing_coordinates(Count b) const {
    return {coordinates(b) + leading_modes, order - leading_modes};
  }
  __host__ __device__ const std::uint32_t* coordinates(Count b) const {
    return data + b * static_cast<Count>(words);
  }

  const std::uint32_t* data;
  int words;
  bool are_packed;
  int order, leading_modes;
  int shift[kMaxOrder] = {};
  IndexParts parts;
};

}  // namespace retensor::bcb_sptc
