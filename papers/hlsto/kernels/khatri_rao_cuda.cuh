// MTTKRP of dense tiles of order 3 where the tensor core's operand is the Khatri-Rao product.
//
// The tuned kernel (tuned_cuda.cuh) multiplies what the tensor core made of slice j, C^T X(:, j,
// :)^T, by the row B(j, :) and adds it up, 16 multiply-adds a lane and slice. Here a lane
// multiplies its fragment of C^T by B(j, :) before, 8 multiplications of two halves:
//   A(i, :)^T += (C^T diag(B(j, :))) X(:, j, :)^T,
// so that the tensor core adds up over slices and tiles alike. Registers keep the 16 rows of B from
// tile to tile as long as these stay the same. A warp has two spread tiles: while one is
// multiplied, the cells of the one before become zeros again and the next is put there. Factors are
// read in single precision and rounded here. Tiles lie as those of the tuned kernel do. The sparse
// nonzeros are the work of that kernel's walk too, by further thread blocks of the same launch.
#pragma once

#include <cuda_fp16.h>

#include "papers/hlsto/kernels/tuned_cuda.cuh"

namespace retensor::hlsto {

inline constexpr int kProductFragments = 2;  ///< 32 columns at a time
/// Warps of a thread block, and blocks of a multiprocessor that registers shall allow for.
inline constexpr unsigned kProductWarps = 4, kProductBlocks = 3;
inline constexpr unsigned kProductCells = kTileCells + 8;  ///< the last for what pads a list
inline constexpr unsigned kProductBytes = kProductWarps * 2 * kProductCells * sizeof(std::uint16_t);
inline constexpr unsigned kProductThreads = 32 * kProductWarps;
/// Lanes of a group that adds up sparse nonzeros, and those that a thread block takes.
inline constexpr int kProductLanes = 4 * kProductFragments;
inline constexpr unsigned kProductNonzeros = kGroupNonzeros * (kProductThreads / kProductLanes);

/// What the kernel gets beside the chain: tiles, and the factors of the columns and of the rows in
/// single precision, whose rows are `of.stride` elements apart.
struct ProductTiles {
  struct Factor {
    const float* rows = nullptr;
    Index count = 0;
  };
  TunedTiles of;
  Factor columns, rows;
  unsigned dense_blocks = 0;  ///< thread blocks of the tiles; those after them take nonzeros
};

/// One warp's walk over tiles in the order of their output rows.
class ProductWalk {
  /// A tile, and what a lane has loaded of its list.
  struct Listed {
    ListedTile tile{};
    uint4 places[kVectorsAhead], values[kVectorsAhead];
  };
  /// A fragment of 16 columns by 16 rows of a factor: columns lane / 4 and 8 further on in turn.
  using Fragment = __half2[4];
  using Fragments = Fragment[kProductFragments];

 public:
  __device__ ProductWalk(const DeviceChain& x, const ProductTiles& tiles, std::uint16_t* shared)
      : x_(x),
        tiles_(tiles),
        column_((blockIdx.y * kProductLanes + lane_ / 4) * 4),
        cells_(reinterpret_cast<char*>(shared + threadIdx.x / 32 * 2 * kProductCells)) {
    for (unsigned v = lane_; v < 2 * kSpreadBytes / sizeof(uint4); v += 32)
      reinterpret_cast<uint4*>(cells_)[v] = make_uint4(0, 0, 0, 0);
    __syncwarp();
  }

  __device__ void run(Index first, Index last) {
    const auto tile_at = [&](Index t) { return t < last ? tile(t) : ListedTile{}; };
    Listed before, now = load(tile(first)), next = load(tile_at(first + 1));
    ListedTile coming = tile_at(first + 2);
    Fragments c, of_next;
    load_fragments(now.tile.column, c);
    put(cells_, now);
    __syncwarp();
    at_ = now.tile.slice;
    for (Index t = first; t < last; ++t) {
      if (now.tile.slice != at_) add_sums();
      at_ = now.tile.slice;
      hold(now.tile.row);
      const Listed after = load(coming);
      coming = tile_at(t + 3);
      load_fragments(next.tile.column, of_next);
      multiply(c, before, next, (t - first) % 2 * kSpreadBytes);
      before = now, now = next, next = after;
#pragma unroll
      for (int e = 0; e < kProductFragments * 4; ++e) c[e / 4][e % 4] = of_next[e / 4][e % 4];
    }
    add_sums();
  }

 private:
  static constexpr unsigned kSpreadBytes = kProductCells * sizeof(std::uint16_t);

  __device__ ListedTile tile(Index t) const {
    const ListedTile* const from = tiles_.of.tiles + t;
    const uint4 head = __ldg(reinterpret_cast<const uint4*>(from));
    return {head.x, head.y, head.z, head.w, __ldg(&from->column), {}};
  }
  __device__ Listed load(const ListedTile& tile) const {
    Listed a;
    a.tile = tile;
#pragma unroll
    for (unsigned q = 0; q < kVectorsAhead; ++q)
      if (32 * q + lane_ < tile.vectors) {
        a.places[q] = places(tile, 32 * q + lane_), a.values[q] = values(tile, 32 * q + lane_);
      }
    return a;
  }
  __device__ uint4 places(const ListedTile& tile, unsigned vector) const {
    return __ldg(tiles_.of.places + tile.first + vector);
  }
  __device__ uint4 values(const ListedTile& tile, unsigned vector) const {
    return __ldg(tiles_.of.values[0] + tile.first + vector);
  }

  __device__ static void put(char* cells, const uint4& places, const uint4& values) {
    const std::uint32_t to[4] = {places.x, places.y, places.z, places.w};
    const std::uint32_t two[4] = {values.x, values.y, values.z, values.w};
    const auto cell = [&](std::uint32_t place) -> std::uint16_t& {
      return *reinterpret_cast<std::uint16_t*>(cells + place);
    };
#pragma unroll
    for (int w = 0; w < 4; ++w) {
      cell(to[w] & 0xffffu) = static_cast<std::uint16_t>(two[w]);
      cell(to[w] >> 16) = static_cast<std::uint16_t>(two[w] >> 16);
    }
  }
  /// Vector `q` of those that are loaded of a tile, at its places.
  __device__ void put_loaded(char* cells, const Listed& x, unsigned q) const {
    if (32 * q + lane_ < x.tile.vectors) put(cells, x.places[q], x.values[q]);
  }
  __device__ void clear_loaded(char* cells, const Listed& x, unsigned q) const {
    if (32 * q + lane_ < x.tile.vectors) put(cells, x.places[q], make_uint4(0, 0, 0, 0));
  }
  /// Calls f(vector) for those of a long list that are not loaded.
  template <class F>
  __device__ void for_each_more(const ListedTile& tile, const F& f) const {
    for (unsigned v = 32 * kVectorsAhead + lane_; v < tile.vectors; v += 32) f(v);
  }
  __device__ void put_more(char* cells, const ListedTile& tile) const {
    for_each_more(tile, [&](unsigned v) { put(cells, places(tile, v), values(tile, v)); });
  }
  __device__ void put(char* cells, const Listed& x) const {
#pragma unroll
    for (unsigned q = 0; q < kVectorsAhead; ++q) put_loaded(cells, x, q);
    put_more(cells, x.tile);
  }

  /// Multiplies the tile that is spread out from byte `mine` on; the other place of the two, where
  /// the tile before is, gets the next.
  __device__ void multiply(const Fragments& c, const Listed& before, const Listed& next,
                           unsigned mine) {
    const uint4* const slices = reinterpret_cast<const uint4*>(cells_ + mine) + lane_;
    char* const other = cells_ + (kSpreadBytes - mine);
    constexpr int kHalf = 8;
#pragma unroll
    for (int j = 0; j < kHalf; ++j) {
      multiply_slice(j, slices, c);
      if (j < static_cast<int>(kVectorsAhead)) clear_loaded(other, before, j);
    }
    for_each_more(before.tile,
                  [&](unsigned v) { put(other, places(before.tile, v), make_uint4(0, 0, 0, 0)); });
    __syncwarp();
#pragma unroll
    for (int j = kHalf; j < 2 * kHalf; ++j) {
      multiply_slice(j, slices, c);
      if (j - kHalf < static_cast<int>(kVectorsAhead)) put_loaded(other, next, j - kHalf);
    }
    put_more(other, next.tile);
    __syncwarp();
  }

  /// The lane's columns, four from `column_` on.
  __device__ float4 row_of(const ProductTiles::Factor& factor, Index row) const {
    if (row >= factor.count) return make_float4(0, 0, 0, 0);
    const float* const at = factor.rows + Count{row} * tiles_.of.stride + column_;
    return __ldg(reinterpret_cast<const float4*>(at));
  }
  /// Rows 2 (lane % 4), the next, and both 8 further on of a tile's columns.
  __device__ void load_fragments(Index column, Fragments& c) const {
    const Index first = (column << 4) + lane_ % 4 * 2;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const float4 even = row_of(tiles_.columns, first + 8 * half);
      const float4 odd = row_of(tiles_.columns, first + 8 * half + 1);
      c[0][2 * half] = __floats2half2_rn(even.x, odd.x);
      c[0][2 * half + 1] = __floats2half2_rn(even.y, odd.y);
      c[1][2 * half] = __floats2half2_rn(even.z, odd.z);
      c[1][2 * half + 1] = __floats2half2_rn(even.w, odd.w);
    }
  }
  /// The factor's rows of a tile's rows.
  __device__ void hold(Index row) {
    if (row == held_row_) return;
    held_row_ = row;
#pragma unroll
    for (unsigned j = 0; j < 16; ++j) {
      const float4 columns = row_of(tiles_.rows, (row << 4) + j);
      held_[2 * j] = __floats2half2_rn(columns.x, columns.y);
      held_[2 * j + 1] = __floats2half2_rn(columns.z, columns.w);
    }
  }

  __device__ void multiply_slice(int j, const uint4* slices, const Fragments& c) {
    const uint4 slice = slices[j * 32];
#pragma unroll
    for (int m = 0; m < kProductFragments; ++m) {
      // Of columns lane / 4 and 8 further on of the fragment, twice each.
      const __half2 both = held_[2 * j + m];
      const __half2 b[2] = {__low2half2(both), __high2half2(both)};
      Fragment product;
#pragma unroll
      for (int e = 0; e < 4; ++e) product[e] = __hmul2(c[m][e], b[e % 2]);
      const uint4& bits = reinterpret_cast<const uint4&>(product);
      multiply_add<Arithmetic::fp16>(sum_[m][0], bits, slice.x, slice.y);
      multiply_add<Arithmetic::fp16>(sum_[m][1], bits, slice.z, slice.w);
    }
  }

  /// A lane has columns 2 (lane % 4) and the next of both operands as rows of the output's tile.
  __device__ void add_sums() {
#pragma unroll
    for (unsigned e = 0; e < 4; ++e) {
      const Index i = (at_ << 4) + e / 2 * 8 + lane_ % 4 * 2 + e % 2;
      const float row[4] = {sum_[0][e / 2][e % 2], sum_[0][e / 2][2 + e % 2], sum_[1][e / 2][e % 2],
                            sum_[1][e / 2][2 + e % 2]};
      if (i < x_.slice_length) add_to_row(x_, i, column_, row);
    }
#pragma unroll
    for (unsigned e = 0; e < 16; ++e) sum_[e / 8][e / 4 % 2][e % 4] = 0;
  }

  const DeviceChain& x_;
  const ProductTiles& tiles_;
  const unsigned lane_ = threadIdx.x % 32, column_;  // the first of the lane's columns
  char* const cells_;                                // the two tiles that are spread out
  Index at_ = 0, held_row_ = kNoRow;      // the tiles that the sums, the held rows are of
  __half2 held_[16 * kProductFragments];  // by slice and fragment: of two columns
  float sum_[kProductFragments][2][4] = {};
};

/// Thread blocks (b, w) walk over tiles, and further ones over sparse nonzeros, for columns 32 w
/// and on.
__global__ void __launch_bounds__(kProductThreads, kProductBlocks)
    walk_products(const DeviceChain x, const ProductTiles tiles) {
  extern __shared__ __align__(128) std::uint16_t spread[];
  if (blockIdx.x >= tiles.dense_blocks) {
    const Count first = Count{blockIdx.x - tiles.dense_blocks} * kProductNonzeros;
    const unsigned group = threadIdx.x / kProductLanes;
    return SparseWalk<kProductLanes, 2>(x, tiles.of).run(first + group * kGroupNonzeros);
  }
  const Index warp = blockIdx.x * kProductWarps + threadIdx.x / 32;
  const Count first = Count{warp} * tiles.of.tiles_per_warp;
  const Count last = first + tiles.of.tiles_per_warp;
  if (first < x.tiles)
    ProductWalk(x, tiles, spread)
        .run(static_cast<Index>(first), static_cast<Index>(last < x.tiles ? last : x.tiles));
}

}  // namespace retensor::hlsto
