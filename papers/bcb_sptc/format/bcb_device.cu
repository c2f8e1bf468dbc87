// COO -> BCB on the device (section III.A), with the steps of conversion.cpp.
//
// A nonzero's key is its block and, below it, its cell; keys are sorted with the values beside
// them, stably, so that values of one coordinate are added up in the order of the input. Of the
// sorted keys those that begin a coordinate are selected, and of these those that begin a block.
// A thread takes a coordinate; that of the first cell of a word of the bitmap walks on to the
// word's last and stores it whole, so no atomics build the bitmaps.
//
// Bytes that a nonzero moves, order 3, keys of b bits in 64: indices in and key out 20; the sort
// 8 + 24 ceil(b / 8); first nonzeros of coordinates 12, of blocks 12; values and bitmaps 16 to 24.
#include "papers/bcb_sptc/format/bcb_device.cuh"

#include <bit>
#include <limits>
#include <span>
#include <string>
#include <utility>

#include <cuda_fp16.h>

#include "common/core/error.hpp"
#include "common/device/cub.cuh"
#include "common/numeric/stored.cuh"

namespace retensor::bcb_sptc {
namespace {

using device::Begins;

std::size_t at(int k) {
  return static_cast<std::size_t>(k);
}

void check_nonzeros(Count nnz) {
  if (nnz > std::numeric_limits<Index>::max())
    throw InputError("BCB: found " + std::to_string(nnz) +
                     " nonzeros, the device takes fewer than 2^32");
}

/// Grid as kernels get it, modes in the order of the fields.
struct GridView {
  GridView(const Grid& grid, const CooView& x) : order(grid.order()), cell_bits(grid.cell_bits()) {
    for (int k = 0; k < order; ++k) {
      const auto mode = at(grid.modes()[at(k)]);
      index[k] = x.indices[mode];
      edge_bits[k] = grid.edge_bits()[mode];
      block_shift[k] = grid.block_index().shift(k);
      cell_shift[k] = grid.cell_index().shift(k);
    }
  }

  template <class Key>
  __device__ Key key(Count x) const {
    Key block = 0, cell = 0;
#pragma unroll
    for (int k = 0; k < kMaxOrder; ++k) {
      if (k >= order) break;
      const Index i = index[k][x];
      block |= static_cast<Key>(i >> edge_bits[k]) << block_shift[k];
      cell |= static_cast<Key>(i & ((Index{1} << edge_bits[k]) - 1)) << cell_shift[k];
    }
    return block << cell_bits | cell;
  }

  int order, cell_bits;
  const Index* index[kMaxOrder] = {};
  int edge_bits[kMaxOrder] = {}, block_shift[kMaxOrder] = {}, cell_shift[kMaxOrder] = {};
};

template <class Key>
__global__ void make_keys(Count n, GridView grid, Key* keys) {
  for_each_of_grid(n, [&](Count x) { keys[x] = grid.key<Key>(x); });
}

/// The coordinates of which the position first[e] of the sorted nonzeros begins a block.
template <class Key>
struct BeginsBlock {
  Begins<Key> of_key;
  const std::uint32_t* first;
  __host__ __device__ bool operator()(std::uint32_t e) const { return of_key(first[e]); }
};

template <class Key>
struct Entries {
  Count nonzeros, entries, blocks;
  const Key* keys;
  const float* from;
  const std::uint32_t *first, *block_first;  // nonzero of an entry, entry of a block
  const std::uint32_t* block_of;             // an entry
  int cell_bits, words;
  Count bitmap_words;
  ValueType type;
  std::uint32_t* block_index;
  std::uint64_t* bitmap;
  std::uint32_t* word_start;
  std::byte* values;

  __device__ Count end(Count e) const { return e + 1 < entries ? first[e + 1] : nonzeros; }
  /// Of the block's bits.
  __device__ Index cell(Count e) const {
    return static_cast<Index>(keys[first[e]] & ((Key{1} << cell_bits) - 1));
  }
};

template <class Key>
__global__ void fill_values(Entries<Key> a) {
  for_each_of_grid(a.entries, [&](Count e) {
    double sum = a.from[a.first[e]];
    for (Count p = a.first[e] + Count{1}; p < a.end(e); ++p) sum += static_cast<double>(a.from[p]);
    store_value(a.values, a.type, e, static_cast<float>(sum));
  });
}

template <class Key>
__global__ void fill_bitmaps(Entries<Key> a) {
  for_each_of_grid(a.entries, [&](Count e) {
    const std::uint32_t block = a.block_of[e];
    const Index word = a.cell(e) / 64;
    if (e > 0 && a.block_of[e - 1] == block && a.cell(e - 1) / 64 == word) return;
    std::uint64_t bits = 0;
    for (Count f = e; f < a.entries && a.block_of[f] == block && a.cell(f) / 64 == word; ++f)
      bits |= std::uint64_t{1} << a.cell(f) % 64;
    a.bitmap[block * a.bitmap_words + word] = bits;
    a.word_start[block * a.bitmap_words + word] = static_cast<std::uint32_t>(e);
  });
}

template <class Key>
__global__ void fill_indices(Entries<Key> a) {
  for_each_of_grid(a.blocks, [&](Count b) {
    // Two shifts: one by all bits of a key would be undefined.
    const Key key = a.keys[a.first[a.block_first[b]]];
    const Key index = a.cell_bits == 0 ? key : key >> (a.cell_bits - 1) >> 1;
    for (int w = 0; w < a.words; ++w)
      a.block_index[b * static_cast<Count>(a.words) + static_cast<Count>(w)] =
          8 * sizeof(Key) > 32 * static_cast<std::size_t>(w)
              ? static_cast<std::uint32_t>(index >> (32 * w))
              : 0;
  });
}

template <class Key>
Buffer<Key> sort_by_key(const CooView& tensor, const Grid& grid, Buffer<float>& values) {
  const Count n = tensor.nnz;
  Buffer<Key> keys(n), spare_keys(n);
  Buffer<float> spare_values(n);
  RETENSOR_CUDA_LAUNCH(make_keys<Key>, grid_for(n), kThreads, 0, nullptr, n, GridView(grid, tensor),
                       keys.data());
  Cub().sort(n, grid.key_bits(), keys, values, spare_keys, spare_values, nullptr);
  return keys;
}

/// The part of each block's index that is contracted.
template <class Key>
__global__ void find_parts(Count blocks, const Key* keys, const std::uint32_t* first, int cell_bits,
                           IndexParts parts, bool leading, Uint128* part) {
  for_each_of_grid(blocks, [&](Count b) {
    const Uint128 block = keys[first[b]] >> cell_bits;
    part[b] = leading ? parts.leading(block) : parts.trailing(block);
  });
}

template <class Key>
Buffer<Uint128> contracted_parts(const SortedNonzeros& tensor, const Buffer<Key>& keys,
                                 bool leading, Cub& cub) {
  Buffer<std::uint32_t> first(tensor.nnz);
  Buffer<Count> found;
  const int cell_bits = tensor.grid.cell_bits();
  cub.select(tensor.nnz, Begins<Key>{keys.data(), cell_bits}, first, found, nullptr);
  Buffer<Uint128> parts(element_at(found, 0));
  RETENSOR_CUDA_LAUNCH(find_parts<Key>, grid_for(parts.size()), kThreads, 0, nullptr, parts.size(),
                       keys.data(), first.data(), cell_bits, IndexParts(tensor.grid), leading,
                       parts.data());
  return parts;
}

/// How many of y's ascending parts are that of a block of x.
struct PairsOf {
  const Uint128 *x, *y;
  Count y_blocks;
  __host__ __device__ Count operator()(Count b) const {
    const Uint128 part = x[b];
    const Count first = lower_bound(y_blocks, part, [&](Count i) { return y[i]; });
    return lower_bound(y_blocks - first, 1, [&](Count i) { return part < y[first + i] ? 1 : 0; });
  }
};

template <class Key>
DeviceBcb built(const SortedNonzeros& tensor, const Buffer<Key>& keys) {
  const Grid& grid = tensor.grid;
  const Count n = tensor.nnz;
  Cub cub;
  Buffer<Count> found;
  Buffer<std::uint32_t> first(n), block_first(n);
  cub.select(n, Begins<Key>{keys.data(), 0}, first, found, nullptr);
  const Count entries = element_at(found, 0);
  cub.select(entries, BeginsBlock<Key>{{keys.data(), grid.cell_bits()}, first.data()}, block_first,
             found, nullptr);
  const Count blocks = element_at(found, 0);

  DeviceBcb bcb(tensor.dims, tensor.options, blocks, entries);
  const auto starts = with_end(block_first, blocks, entries);
  Buffer<std::uint32_t> block_of;
  find_owners(blocks, starts, entries, block_of, cub, nullptr);
  bcb.bitmap.zero(nullptr);
  bcb.word_start.zero(nullptr);
  const Entries<Key> a{n,
                       entries,
                       blocks,
                       keys.data(),
                       tensor.values.data(),
                       first.data(),
                       starts.data(),
                       block_of.data(),
                       grid.cell_bits(),
                       bcb.index_words(),
                       grid.bitmap_words(),
                       tensor.options.values,
                       bcb.block_index.data(),
                       bcb.bitmap.data(),
                       bcb.word_start.data(),
                       bcb.values.data()};
  RETENSOR_CUDA_LAUNCH(fill_values<Key>, grid_for(entries), kThreads, 0, nullptr, a);
  RETENSOR_CUDA_LAUNCH(fill_bitmaps<Key>, grid_for(entries), kThreads, 0, nullptr, a);
  RETENSOR_CUDA_LAUNCH(fill_indices<Key>, grid_for(blocks), kThreads, 0, nullptr, a);
  return bcb;
}

__global__ void unpack_field(Count blocks, const __grid_constant__ Indices packed, Field field,
                             Count order, std::uint32_t* coordinate) {
  for_each_of_grid(blocks, [&](Count b) { coordinate[b * order] = decode(packed.at(b), field); });
}

__global__ void make_operands(Count n, const std::byte* values, ValueType type,
                              Arithmetic arithmetic, std::byte* out) {
  for_each_of_grid(n, [&](Count p) {
    const float x = load_value(values, type, p);
    if (arithmetic == Arithmetic::fp16) {
      store_value(out, ValueType::f16, p, x);
    } else if (arithmetic == Arithmetic::bf16) {
      store_value(out, ValueType::bf16, p, x);
    } else if (arithmetic == Arithmetic::tf32) {
      store_value(out, ValueType::f32, p, nearest_tf32(x));
    } else {
      const __half high = __float2half_rn(x);
      store_value(out, ValueType::f16, 2 * p, x);
      store_value(out, ValueType::f16, 2 * p + 1, x - __half2float(high));
    }
  });
}

}  // namespace

DeviceBcb::DeviceBcb(const Dims& mode_lengths, const Options& given, Count block_count,
                     Count nonzeros)
    : dims(mode_lengths),
      options(given),
      grid(mode_lengths, given),
      blocks(block_count),
      nnz(nonzeros),
      block_index(blocks * static_cast<Count>(words_for(grid.block_index().bits()))),
      bitmap(blocks * grid.bitmap_words()),
      word_start(bitmap.size()),
      values(nnz * bits_of(given.values) / 8) {}

DeviceBcb upload(const Bcb& bcb) {
  check_nonzeros(bcb.nnz());
  DeviceBcb to(bcb.dims, bcb.options, bcb.blocks(), bcb.nnz());
  std::vector<std::uint32_t> word_start(bcb.bitmap.size(), 0);
  const Count words = bcb.grid.bitmap_words();
  for (Count b = 0; b < bcb.blocks(); ++b) {
    Count value = bcb.value_start[b];
    for (Count w = b * words; w < (b + 1) * words; ++w) {
      if (bcb.bitmap[w] != 0) word_start[w] = static_cast<std::uint32_t>(value);
      value += static_cast<Count>(std::popcount(bcb.bitmap[w]));
    }
  }
  to.block_index.upload(bcb.block_index.data());
  to.bitmap.upload(bcb.bitmap);
  to.word_start.upload(word_start);
  to.values.upload(bcb.options.values == ValueType::f32
                       ? std::as_bytes(std::span(bcb.values.wide()))
                       : std::as_bytes(std::span(bcb.values.narrow())));
  return to;
}

CooView view_of(const DeviceCoo& x) {
  CooView to{x.dims, x.nnz, {}, x.floats()};
  for (const auto& index : x.indices) to.indices.push_back(index.data());
  return to;
}

SortedNonzeros::SortedNonzeros(const CooView& tensor, const Options& given)
    : dims(tensor.dims),
      options(given),
      grid(tensor.dims, given),
      nnz(tensor.nnz),
      values(copied(tensor.values, tensor.nnz)) {
  check_nonzeros(nnz);
  const int bits = grid.key_bits();
  if (bits > 128)
    throw InputError("BCB: block and cell take " + std::to_string(bits) +
                     " bits, found room for 128 in a key");
  if (nnz == 0) return;
  if (bits <= 64)
    keys = sort_by_key<std::uint64_t>(tensor, grid, values);
  else
    keys = sort_by_key<Uint128>(tensor, grid, values);
}

Count count_pairs(const SortedOperands& operands) {
  if (operands.x.nnz == 0 || operands.y.nnz == 0) return 0;
  Cub cub;
  const auto parts = [&](const SortedNonzeros& tensor, bool leading) {
    return std::visit(
        [&](const auto& keys) { return contracted_parts(tensor, keys, leading, cub); },
        tensor.keys);
  };
  const auto x = parts(operands.x, false), y = parts(operands.y, true);
  return cub.reduce(x.size(), PairsOf{x.data(), y.data(), y.size()}, device::kernels::Add{},
                    Count{0});
}

DeviceBcb to_bcb(const SortedNonzeros& tensor) {
  if (tensor.nnz == 0) return {tensor.dims, tensor.options, 0, 0};
  return std::visit([&](const auto& keys) { return built(tensor, keys); }, tensor.keys);
}

void unpack_index(DeviceBcb& bcb) {
  const auto& fields = bcb.grid.block_index();
  const auto order = static_cast<Count>(bcb.grid.order());
  Buffer<std::uint32_t> coordinates(bcb.blocks * order);
  for (int k = 0; k < bcb.grid.order() && bcb.blocks > 0; ++k)
    RETENSOR_CUDA_LAUNCH(unpack_field, grid_for(bcb.blocks), kThreads, 0, nullptr, bcb.blocks,
                         Indices(bcb), (Field{fields.shift(k), fields.width(k)}), order,
                         coordinates.data() + k);
  bcb.block_index = std::move(coordinates);
  bcb.is_packed = false;
}

Buffer<std::byte> operands_of(const DeviceBcb& bcb, Arithmetic arithmetic) {
  const ValueType stored = bcb.options.values;
  if ((arithmetic == Arithmetic::fp16 && stored == ValueType::f16) ||
      (arithmetic == Arithmetic::bf16 && stored == ValueType::bf16))
    return {};
  const Count bytes = arithmetic == Arithmetic::fp16 || arithmetic == Arithmetic::bf16 ? 2 : 4;
  Buffer<std::byte> operands(bcb.nnz * bytes);
  if (bcb.nnz > 0)
    RETENSOR_CUDA_LAUNCH(make_operands, grid_for(bcb.nnz), kThreads, 0, nullptr, bcb.nnz,
                         bcb.values.data(), stored, arithmetic, operands.data());
  return operands;
}

}  // namespace retensor::bcb_sptc
