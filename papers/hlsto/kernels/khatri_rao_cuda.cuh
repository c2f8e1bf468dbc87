// MTTKRP of dense tiles of order 3 where the tensor core's operand is the Khatri-Rao product.
//
// The tuned kernel (tuned_cuda.cuh) multiplies what the tensor core made of slice j, C^T X(:, j,
// :)^T, by the row B(j, :) and adds it up, 16 multiply-adds a lane and slice. Here a lane
// multiplies its fragment of C^T by B(j, :) before, 8 multiplications of two halves:
//   A(i, :)^T += (C^T diag(B(j, :))) X(:, j, :)^T,
// so that the tensor core adds up over slices and tiles alike. The layouts of tiles and factors are
// those of the tuned kernel, and so is the part of the sparse nonzeros.
//
// Split operands: with C = c + c', B = b + b' and p = fl(b c) the product is p + (b c - p) + b c' +
// b' c but for products of second halves, where fma(b, c, -p) is what rounding left of b c.
#pragma once

#include <cuda_fp16.h>

#include "papers/hlsto/kernels/tuned_cuda.cuh"

namespace retensor::hlsto {

inline constexpr int kProductFragments = 2;  ///< 32 columns at a time

/// Memory and size of a thread block.
template <int kParts>
struct ProductBlock {
  static constexpr unsigned kWarps = 4, kAtOnce = kParts == 2 ? 3 : 5;
  static constexpr unsigned kPartBytes = TunedBlock<Arithmetic::fp16>::kPartCells * 2;
  static constexpr unsigned kBytes = kWarps * kParts * kPartBytes;
};

/// One warp's walk over tiles in the order of their output rows.
template <int kParts>
class ProductWalk {
  static constexpr unsigned kPartBytes = ProductBlock<kParts>::kPartBytes;
  static constexpr auto kArithmetic = kParts == 2 ? Arithmetic::split_fp16 : Arithmetic::fp16;
  using RowWeights = Weights<kArithmetic, kProductFragments>;

  /// What a lane has loaded of a tile's list.
  struct Ahead {
    uint4 places[kVectorsAhead], values[kParts][kVectorsAhead];
  };
  /// A fragment of 16 columns by 16 rows of a factor: rows lane / 4 and 8 further on in turn.
  using Fragment = __half2[4];

 public:
  __device__ ProductWalk(const DeviceChain& x, const TunedTiles& tiles, char* shared)
      : x_(x), tiles_(tiles), cells_(shared + threadIdx.x / 32 * kParts * kPartBytes) {
    for (unsigned v = lane_; v < kParts * kPartBytes / sizeof(uint4); v += 32)
      reinterpret_cast<uint4*>(cells_)[v] = make_uint4(0, 0, 0, 0);
    __syncwarp();
  }

  __device__ void run(Count first, Count last) {
    ListedTile next = tile(first);
    Ahead ahead = load(next);
    at_ = next.slice;
    for (Count t = first; t < last; ++t) {
      const ListedTile now = next;
      const Ahead loaded = ahead;
      if (t + 1 < last) next = tile(t + 1), ahead = load(next);
      if (now.slice != at_) add_sums();
      at_ = now.slice;
      add(now, loaded);
    }
    add_sums();
  }

 private:
  __device__ ListedTile tile(Count t) const {
    const ListedTile* const from = tiles_.tiles + t;
    const uint4 head = __ldg(reinterpret_cast<const uint4*>(from));
    return {head.x, head.y, head.z, head.w, __ldg(&from->column), {}};
  }
  __device__ Ahead load(const ListedTile& tile) const {
    Ahead a;
#pragma unroll
    for (unsigned q = 0; q < kVectorsAhead; ++q)
      if (32 * q + lane_ < tile.vectors) load(Count{tile.first} + 32 * q + lane_, q, a);
    return a;
  }
  __device__ void load(Count vector, unsigned q, Ahead& a) const {
    a.places[q] = __ldg(tiles_.places + vector);
#pragma unroll
    for (int p = 0; p < kParts; ++p) a.values[p][q] = __ldg(tiles_.values[p] + vector);
  }

  /// Calls f(vector of the list ahead) for those that the tile has.
  template <class F>
  __device__ void for_each_ahead(const ListedTile& tile, const F& f) const {
#pragma unroll
    for (unsigned q = 0; q < kVectorsAhead; ++q)
      if (32 * q + lane_ < tile.vectors) f(q);
  }
  /// Calls f(what is loaded) for the vectors further on, as the first ahead.
  template <class F>
  __device__ void for_each_further(const ListedTile& tile, const F& f) const {
    for (unsigned v = 32 * kVectorsAhead + lane_; v < tile.vectors; v += 32) {
      Ahead more;
      load(Count{tile.first} + v, 0, more);
      f(more);
    }
  }
  __device__ void put(int part, uint4 places, uint4 values) {
    const std::uint32_t to[4] = {places.x, places.y, places.z, places.w};
    const std::uint32_t two[4] = {values.x, values.y, values.z, values.w};
    char* const cells = cells_ + part * kPartBytes;
#pragma unroll
    for (int w = 0; w < 4; ++w) {
      *reinterpret_cast<std::uint16_t*>(cells + (to[w] & 0xffffu)) =
          static_cast<std::uint16_t>(two[w]);
      *reinterpret_cast<std::uint16_t*>(cells + (to[w] >> 16)) =
          static_cast<std::uint16_t>(two[w] >> 16);
    }
  }

  /// Puts the tile's values at their places, multiplies, and puts zeros there again.
  __device__ void add(const ListedTile& tile, const Ahead& loaded) {
    constexpr uint4 kZeros{0, 0, 0, 0};
    Fragment c[kParts][kProductFragments];
    load_fragments(tile, c);
#pragma unroll
    for (int p = 0; p < kParts; ++p) {
      for_each_ahead(tile, [&](unsigned q) { put(p, loaded.places[q], loaded.values[p][q]); });
      for_each_further(tile, [&](const Ahead& a) { put(p, a.places[0], a.values[p][0]); });
    }
    __syncwarp();
    multiply(tile, c);
    __syncwarp();
#pragma unroll
    for (int p = 0; p < kParts; ++p) {
      for_each_ahead(tile, [&](unsigned q) { put(p, loaded.places[q], kZeros); });
      for_each_further(tile, [&](const Ahead& a) { put(p, a.places[0], kZeros); });
    }
    __syncwarp();
  }

  __device__ void load_fragments(const ListedTile& tile,
                                 Fragment (&c)[kParts][kProductFragments]) const {
    const Count block = Count{tile.column} * tiles_.column_blocks + blockIdx.y * kProductFragments;
#pragma unroll
    for (int p = 0; p < kParts; ++p)
#pragma unroll
      for (int m = 0; m < kProductFragments; ++m)
        reinterpret_cast<uint4&>(c[p][m]) =
            __ldg(tiles_.fragments[p] + (block + static_cast<unsigned>(m)) * 32 + lane_);
  }

  __device__ void multiply(const ListedTile& tile, const Fragment (&c)[kParts][kProductFragments]) {
    constexpr int kSlices = RowWeights::kSlices, kSteps = 16 / kSlices;
    const uint4* const weights =
        tiles_.weights + (Count{tile.row} * gridDim.y + blockIdx.y) * kSteps * 8 + lane_ / 4;
#pragma unroll 2
    for (int step = 0; step < kSteps; ++step) {
      const uint4 loaded = __ldg(weights + step * 8);
#pragma unroll
      for (int s = 0; s < kSlices; ++s) multiply_slice(step * kSlices + s, c, loaded, s);
    }
  }

  /// Slice j, the s-th of the loaded weights.
  __device__ void multiply_slice(int j, const Fragment (&c)[kParts][kProductFragments],
                                 const uint4& loaded, int s) {
    uint4 slice[kParts];
#pragma unroll
    for (int p = 0; p < kParts; ++p)
      slice[p] = reinterpret_cast<const uint4*>(cells_ + p * kPartBytes)[j * 32 + lane_];
#pragma unroll
    for (int m = 0; m < kProductFragments; ++m) {
      __half2 b[kParts][2];  // of columns lane / 4 and 8 further on of the fragment, twice each
      weigh(loaded, s, m, b);
      Fragment product, rest;
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        product[e] = __hmul2(c[0][m][e], b[0][e % 2]);
        if constexpr (kParts == 2) {
          const __half2 left = __hfma2(c[0][m][e], b[0][e % 2], __hneg2(product[e]));
          rest[e] = __hfma2(c[0][m][e], b[1][e % 2], __hfma2(c[1][m][e], b[0][e % 2], left));
        }
      }
      multiply(product, slice[0], m);
      if constexpr (kParts == 2) multiply(rest, slice[0], m), multiply(product, slice[1], m);
    }
  }
  __device__ static void weigh(const uint4& loaded, int s, int m, __half2 (&b)[kParts][2]) {
    if constexpr (kParts == 2) {
      const auto& weights = reinterpret_cast<const RowWeights&>(loaded);
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        const float weight = weights.of[s][2 * m + e];
        b[0][e] = __float2half2_rn(weight);
        b[1][e] = __float2half2_rn(weight - __low2float(b[0][e]));
      }
    } else {
      const __half2 both = reinterpret_cast<const __half2(&)[4]>(loaded)[2 * s + m];
      b[0][0] = __low2half2(both), b[0][1] = __high2half2(both);
    }
  }
  /// Both operands of eight output rows.
  __device__ void multiply(const Fragment& a, const uint4& slice, int m) {
    const uint4& bits = reinterpret_cast<const uint4&>(a);
    multiply_add<Arithmetic::fp16>(sum_[m][0], bits, slice.x, slice.y);
    multiply_add<Arithmetic::fp16>(sum_[m][1], bits, slice.z, slice.w);
  }

  /// A lane has columns 2 (lane % 4) and the next of both operands as rows of the output's tile.
  __device__ void add_sums() {
    const unsigned column = (blockIdx.y * kProductFragments * 4 + lane_ / 4) * 4;
#pragma unroll
    for (unsigned e = 0; e < 4; ++e) {
      const Index i = (at_ << 4) + e / 2 * 8 + lane_ % 4 * 2 + e % 2;
      const float row[4] = {sum_[0][e / 2][e % 2], sum_[0][e / 2][2 + e % 2], sum_[1][e / 2][e % 2],
                            sum_[1][e / 2][2 + e % 2]};
      if (i < x_.slice_length) add_to_row(x_, i, column, row);
    }
#pragma unroll
    for (unsigned e = 0; e < 16; ++e) sum_[e / 8][e / 4 % 2][e % 4] = 0;
  }

  const DeviceChain& x_;
  const TunedTiles& tiles_;
  const unsigned lane_ = threadIdx.x % 32;
  char* const cells_;  // the tile that is spread out, part after part
  Index at_ = 0;       // the output's tile that the sums are of
  float sum_[kProductFragments][2][4] = {};
};

/// Thread blocks (b, w) walk over tiles for columns 32 w and on.
template <int kParts>
__global__ void __launch_bounds__(32 * ProductBlock<kParts>::kWarps, ProductBlock<kParts>::kAtOnce)
    walk_products(const DeviceChain x, const TunedTiles tiles) {
  extern __shared__ __align__(128) char shared[];
  const Count warp = Count{blockIdx.x} * ProductBlock<kParts>::kWarps + threadIdx.x / 32;
  const Count first = warp * tiles.tiles_per_warp, last = first + tiles.tiles_per_warp;
  if (first < x.tiles)
    ProductWalk<kParts>(x, tiles, shared).run(first, last < x.tiles ? last : x.tiles);
}

}  // namespace retensor::hlsto
