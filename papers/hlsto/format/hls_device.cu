// COO -> HLS on the device (section V.A), with the steps of conversion.cpp.
//
// A nonzero's key is its tile and, below it, its cell; it is sorted with the value beside it,
// stably, so that values of one coordinate are added up in the order of the input. Of the sorted
// keys those that begin a tile are selected, a scan over the tiles tells what dense tiles and
// values lie before each, and a warp takes a tile. No atomics build the bitmaps (section VII.C.2):
// cells ascend, so the lane that holds the first cell of a word walks on to the word's last and
// stores it whole.
//
// Bytes that a nonzero moves, at order 3 with keys of b bits in 64 and values of 16: indices in and
// key out 20; a histogram and ceil(b / 8) passes of the sort, 8 + 24 ceil(b / 8); first nonzeros of
// coordinates 12, of tiles 8; values cleared and filling 16 in a dense tile and 20 to 24 in a
// sparse one. A bitmap is cleared, then stored. Keys beyond 64 bits take 16 bytes.
#include "papers/hlsto/format/hls_device.cuh"

#include <algorithm>
#include <limits>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>

#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_scan.cuh>
#include <cub/device/device_select.cuh>

#include "common/device/cub.cuh"
#include "common/device/loops.cuh"
#include "common/numeric/stored.cuh"

namespace retensor::hlsto {
namespace {

using device::Buffer;
using device::Cub;

constexpr unsigned kThreads = 256;
constexpr Count kMostBlocks = 1 << 16;

/// Grid as kernels get it. Places 0 to 2 of a tile's index are the tiled modes, then the kept ones.
struct GridView {
  explicit GridView(const Grid& grid)
      : order(static_cast<int>(grid.nonzero_index().modes().size())),
        edge_bits(grid.edge_bits()),
        tile_words(words_for(grid.tile_index().bits())),
        nonzero_words(words_for(grid.nonzero_index().bits())) {
    int k = 0;
    for (const int m : grid.tiled()) mode_at[k++] = m;
    for (const int m : grid.kept()) mode_at[k++] = m;
    for (k = 0; k < order; ++k) {
      tile_shift[k] = grid.tile_index().shift(k);
      tile_width[k] = grid.tile_index().width(k);
      nonzero_shift[k] = grid.nonzero_index().shift(mode_at[k]);
    }
  }

  __host__ __device__ int cell_bits() const { return kTiledModes * edge_bits; }
  /// Of the bits that a cell has of its coordinate along tiled mode k.
  __device__ int cell_shift(int k) const { return (kTiledModes - 1 - k) * edge_bits; }
  __device__ Index edge_mask() const { return (Index{1} << edge_bits) - 1; }

  /// Tile and cell of nonzero x; index[k] are the indices along the mode of place k.
  template <class Key>
  __device__ Key key(const Index* const* index, Count x) const {
    Key tile = 0;
    Index cell = 0;
#pragma unroll
    for (int k = 0; k < kHighestOrder; ++k) {
      if (k >= order) break;
      const Index i = index[k][x];
      tile |= static_cast<Key>(k < kTiledModes ? i >> edge_bits : i) << tile_shift[k];
      if (k < kTiledModes) cell |= (i & edge_mask()) << cell_shift(k);
    }
    return tile << cell_bits() | cell;
  }
  template <class Key>
  __device__ Key tile(Key key) const {
    return key >> cell_bits();
  }
  template <class Key>
  __device__ Index cell(Key key) const {
    return static_cast<Index>(key) & ((Index{1} << cell_bits()) - 1);
  }
  /// The linear index of the nonzero with this key; it has no more bits than the key.
  template <class Key>
  __device__ Key nonzero(Key key) const {
    Key nonzero = 0;
#pragma unroll
    for (int k = 0; k < kHighestOrder; ++k) {
      if (k >= order) break;
      Index i = static_cast<Index>(tile(key) >> tile_shift[k] & ((Key{1} << tile_width[k]) - 1));
      if (k < kTiledModes) i = i << edge_bits | (cell(key) >> cell_shift(k) & edge_mask());
      nonzero |= static_cast<Key>(i) << nonzero_shift[k];
    }
    return nonzero;
  }

  int order, edge_bits, tile_words, nonzero_words;
  int mode_at[kHighestOrder] = {};
  int tile_shift[kHighestOrder] = {}, tile_width[kHighestOrder] = {};
  int nonzero_shift[kHighestOrder] = {};
};

/// Indices of the nonzeros by place.
struct CooView {
  CooView(const DeviceCoo& x, const GridView& grid) {
    for (int k = 0; k < grid.order; ++k)
      index[k] = x.indices[static_cast<std::size_t>(grid.mode_at[k])].data();
  }
  const Index* index[kHighestOrder] = {};
};

template <class Key>
__global__ void make_keys(Count n, GridView grid, CooView x, Key* keys) {
  device::for_each_of_grid(n, [&](Count p) { keys[p] = grid.key<Key>(x.index, p); });
}

/// One key for each coordinate, the values of first[c] to first[c + 1] added up.
template <class Key>
__global__ void merge(Count coordinates, const std::uint32_t* first, const Key* keys,
                      const float* values, Key* merged_keys, float* merged_values) {
  device::for_each_of_grid(coordinates, [&](Count c) {
    double sum = values[first[c]];
    for (std::uint32_t p = first[c] + 1; p < first[c + 1]; ++p)
      sum += static_cast<double>(values[p]);
    merged_keys[c] = keys[first[c]];
    merged_values[c] = static_cast<float>(sum);
  });
}

/// Dense tiles and their values, of a tile or before one.
struct Dense {
  std::uint32_t tiles, values;
};
struct Plus {
  __host__ __device__ Dense operator()(Dense a, Dense b) const {
    return {a.tiles + b.tiles, a.values + b.values};
  }
};
struct DenseOfTile {
  const std::uint32_t* start;
  Count tiles, threshold;
  __host__ __device__ Dense operator()(std::uint32_t t) const {
    if (t >= tiles) return {0, 0};
    const std::uint32_t size = start[t + 1] - start[t];
    return size >= threshold ? Dense{1, size} : Dense{0, 0};
  }
};

template <class Key>
struct FillArguments {
  GridView grid;
  Count tiles;
  const Key* keys;
  const float* values;
  const std::uint32_t* start;  // of the tiles
  const Dense* before;         // the tiles
  ValueType type;
  Count bitmap_words;  // of 32 bits, of a tile
  std::uint32_t *tile_index, *bitmap, *nonzero_index;
  Count* value_start;
  void *dense_values, *sparse_values;
};

template <class Key>
__device__ void store_index(std::uint32_t* indices, int words, Count p, Key index) {
  for (int w = 0; w < words; ++w)
    indices[p * static_cast<Count>(words) + static_cast<Count>(w)] =
        static_cast<std::uint32_t>(index >> (32 * w));
}

/// Entries begin to end are a dense tile; a lane takes every 32nd.
template <class Key>
__device__ void store_dense(const FillArguments<Key>& a, Dense before, std::uint32_t begin,
                            std::uint32_t end, unsigned lane) {
  if (lane == 0) {
    store_index(a.tile_index, a.grid.tile_words, before.tiles, a.grid.tile(a.keys[begin]));
    a.value_start[before.tiles] = before.values;
  }
  std::uint32_t* const bitmap = a.bitmap + before.tiles * a.bitmap_words;
  for (std::uint32_t e = begin + lane; e < end; e += 32) {
    store_value(a.dense_values, a.type, before.values + (e - begin), a.values[e]);
    const Index word = a.grid.cell(a.keys[e]) / 32;
    if (e > begin && a.grid.cell(a.keys[e - 1]) / 32 == word) continue;
    std::uint32_t bits = 0;
    for (std::uint32_t f = e; f < end && a.grid.cell(a.keys[f]) / 32 == word; ++f)
      bits |= 1u << a.grid.cell(a.keys[f]) % 32;
    bitmap[word] = bits;
  }
}

template <class Key>
__device__ void store_sparse(const FillArguments<Key>& a, Dense before, std::uint32_t begin,
                             std::uint32_t end, unsigned lane) {
  for (std::uint32_t e = begin + lane; e < end; e += 32) {
    const Count entry = e - before.values;
    store_index(a.nonzero_index, a.grid.nonzero_words, entry, a.grid.nonzero(a.keys[e]));
    store_value(a.sparse_values, a.type, entry, a.values[e]);
  }
}

/// A warp a tile; words of a bitmap without a nonzero are left as they are.
template <class Key>
__global__ void fill_tiles(FillArguments<Key> a) {
  const unsigned lane = threadIdx.x % 32;
  device::for_each_of_warps<kThreads>(a.tiles, [&](Count t) {
    const Dense before = a.before[t];
    if (a.before[t + 1].tiles > before.tiles)
      store_dense(a, before, a.start[t], a.start[t + 1], lane);
    else
      store_sparse(a, before, a.start[t], a.start[t + 1], lane);
  });
}

unsigned blocks(Count threads) {
  return device::blocks_for(threads, kThreads, kMostBlocks);
}

/// Nonzeros by key.
template <class Key>
struct Entries {
  explicit Entries(Count n) : keys(n), values(n) {}
  Buffer<Key> keys;
  Buffer<float> values;
};

template <class Key>
Entries<Key> sorted(const DeviceCoo& tensor, const GridView& view, int bits, Cub& cub) {
  Buffer<Key> unsorted(tensor.nnz);
  Entries<Key> to(tensor.nnz);
  RETENSOR_CUDA_LAUNCH(make_keys<Key>, blocks(tensor.nnz), kThreads, 0, nullptr, tensor.nnz, view,
                       CooView(tensor, view), unsorted.data());
  cub(tensor.nnz, [&](void* scratch, std::size_t& bytes) {
    return cub::DeviceRadixSort::SortPairs(scratch, bytes, unsorted.data(), to.keys.data(),
                                           tensor.floats(), to.values.data(),
                                           static_cast<int>(tensor.nnz), 0, std::max(1, bits));
  });
  return to;
}

/// Positions of sorted keys, and how many there are; after the last stands the number of keys.
struct Selection {
  Buffer<std::uint32_t> at;
  Count count;
};

/// Where keys differ from the ones before in the bits from `shift` on.
template <class Key>
Selection begins_of(const Buffer<Key>& keys, int shift, Cub& cub) {
  const Count n = keys.size();
  Selection positions{Buffer<std::uint32_t>(n + 1), 0};
  Buffer<Count> count;
  cub.select(n, device::Begins<Key>{keys.data(), shift}, positions.at, count, nullptr);
  positions.count = element_at(count, 0);
  set_element(positions.at, positions.count, static_cast<std::uint32_t>(n));
  return positions;
}

template <class Key>
Entries<Key> without_duplicates(Entries<Key> all, Cub& cub) {
  const Selection first = begins_of(all.keys, 0, cub);
  if (first.count == all.keys.size()) return all;
  Entries<Key> merged(first.count);
  RETENSOR_CUDA_LAUNCH(merge<Key>, blocks(first.count), kThreads, 0, nullptr, first.count,
                       first.at.data(), all.keys.data(), all.values.data(), merged.keys.data(),
                       merged.values.data());
  return merged;
}

/// What is dense before each tile, and before the end.
Buffer<Dense> dense_before(const Selection& tiles, Count threshold, Cub& cub) {
  Buffer<Dense> before(tiles.count + 1);
  const auto of_tiles =
      thrust::make_transform_iterator(thrust::counting_iterator<std::uint32_t>(0),
                                      DenseOfTile{tiles.at.data(), tiles.count, threshold});
  cub(tiles.count, [&](void* scratch, std::size_t& bytes) {
    return cub::DeviceScan::ExclusiveScan(scratch, bytes, of_tiles, before.data(), Plus{},
                                          Dense{0, 0}, static_cast<int>(tiles.count + 1));
  });
  return before;
}

/// The format of at least one nonzero, of a shape that has no counts yet; all on the default
/// stream.
template <class Key>
DeviceHls built(const DeviceCoo& tensor, HlsShape shape) {
  const GridView view(shape.grid);
  Cub cub;
  const auto entries =
      without_duplicates(sorted<Key>(tensor, view, shape.grid.key_bits(), cub), cub);
  const Selection tiles = begins_of(entries.keys, view.cell_bits(), cub);
  const Buffer<Dense> before = dense_before(tiles, shape.options.threshold, cub);
  const Dense all = element_at(before, tiles.count);
  shape.tiles = tiles.count, shape.dense_tiles = all.tiles, shape.dense_nonzeros = all.values;
  shape.sparse_nonzeros = entries.keys.size() - all.values;

  DeviceHls hls(shape);
  hls.bitmap.zero(nullptr);
  set_element(hls.value_start, hls.dense_tiles, hls.dense_nonzeros);
  const FillArguments<Key> a{view,
                             hls.tiles,
                             entries.keys.data(),
                             entries.values.data(),
                             tiles.at.data(),
                             before.data(),
                             hls.options.values,
                             2 * hls.grid.bitmap_words(),
                             hls.tile_index.data(),
                             hls.bitmap.data(),
                             hls.nonzero_index.data(),
                             hls.value_start.data(),
                             hls.dense_values.data(),
                             hls.sparse_values.data()};
  RETENSOR_CUDA_LAUNCH(fill_tiles<Key>, blocks(32 * hls.tiles), kThreads, 0, nullptr, a);
  return hls;
}

/// Zeros for values of so many nonzeros and for what whole vectors of 16 bytes read beyond them.
Buffer<std::byte> zero_values(const HlsShape& hls, Count nonzeros) {
  const Count bytes = nonzeros * bits_of(hls.options.values) / 8;
  Buffer<std::byte> values((bytes + 15) / 16 * 16);
  values.zero(nullptr);
  return values;
}

Buffer<std::uint32_t> indices_of(const LinearIndex& index, Count n) {
  return Buffer<std::uint32_t>(n * static_cast<Count>(words_for(index.bits())));
}

void upload_values(Buffer<std::byte>& to, const StoredValues& values) {
  to.upload(values.type() == ValueType::f32 ? std::as_bytes(std::span(values.wide()))
                                            : std::as_bytes(std::span(values.narrow())));
}

}  // namespace

DeviceHls::DeviceHls(const HlsShape& shape)
    : HlsShape(shape),
      tile_index(indices_of(grid.tile_index(), dense_tiles)),
      bitmap(2 * grid.bitmap_words() * dense_tiles),
      value_start(dense_tiles + 1),
      dense_values(zero_values(shape, dense_nonzeros)),
      nonzero_index(indices_of(grid.nonzero_index(), sparse_nonzeros)),
      sparse_values(zero_values(shape, sparse_nonzeros)) {}

DeviceHls upload(const Hls& hls) {
  DeviceHls to(hls);
  to.tile_index.upload(hls.tile_index.data());
  to.bitmap.upload(
      {reinterpret_cast<const std::uint32_t*>(hls.bitmap.data()), 2 * hls.bitmap.size()});
  to.value_start.upload(hls.value_start);
  upload_values(to.dense_values, hls.dense_values);
  to.nonzero_index.upload(hls.nonzero_index.data());
  upload_values(to.sparse_values, hls.sparse_values);
  return to;
}

DeviceHls to_hls(const DeviceCoo& tensor, const Options& options) {
  const HlsShape shape(tensor.dims, options);
  const int bits = shape.grid.key_bits();
  if (tensor.nnz > kMostOnDevice)
    throw InputError("HLS: found " + std::to_string(tensor.nnz) + " nonzeros, the device sorts " +
                     std::to_string(kMostOnDevice) + " at most");
  if (tensor.nnz == 0) return upload(Hls(shape));
  if (bits <= 64) return built<std::uint64_t>(tensor, shape);
  if (bits <= 128) return built<Uint128>(tensor, shape);
  throw InputError("HLS: tile and cell take " + std::to_string(bits) +
                   " bits, found room for 128 in a key");
}

}  // namespace retensor::hlsto
