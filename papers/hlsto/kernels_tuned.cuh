// MTTKRP of dense tiles where only the diagonal of the paper's second product is computed.
//
// With j fixed instead of i, X(:, j, :) C is a product of 16 x 16 by 16 x R whose row i belongs to
// output row i, and A(i, r) += B(j, r) (X(:, j, :) C)(i, r) is one multiply-add for each element
// that a thread holds: no second MMA, no operand rounded in between, no transport between threads.
// A warp walks over tiles in the order of their output rows and keeps the sums in registers as long
// as these stay the same; then they are added to the result, two columns at once.
//
// A tile is spread out in shared memory, slice j after slice j, so that one ldmatrix fetches
// X(:, j, :) as operand. The two halves of a row of 16 cells stand in turn in the first and the
// second place every four rows, so that neither the eight rows of a fetch meet in a bank. Factor C
// lies in global memory as the fragments want it: for 16 rows and 8 columns, 8 bytes a thread.
#pragma once

#include "papers/hlsto/kernels_cuda.cuh"

namespace retensor::hlsto {

inline constexpr unsigned kFragmentColumns = 8;  // of m16n8k16
inline constexpr unsigned kTileCells = 16 * 16 * 16;

/// What the tuned kernel gets beside the chain.
struct TunedTiles {
  const std::uint32_t* order = nullptr;  ///< tiles by their place along the output's mode
  /// Of the columns' factor, for 16 rows and 8 columns: the 32 lanes' parts of the B operand, one
  /// array per part.
  const uint2* fragments[2] = {};
  unsigned column_blocks = 0;  ///< of 8 columns, all of the factor, padded to whole walks
  unsigned tiles_per_warp = 1;
  unsigned tile_thread_blocks = 0;  ///< of one walk; the thread blocks beyond take sparse nonzeros
};

/// Warps of a thread block: those whose tiles fit 64 KiB of shared memory, so that three blocks fit
/// a multiprocessor.
template <Arithmetic kArithmetic>
inline constexpr unsigned kTunedWarps = kArithmetic == Arithmetic::split_fp16 ? 4 : 8;

/// Where a cell stands in shared memory: i along the output, j, k.
__device__ inline unsigned place_of(unsigned i, unsigned j, unsigned k) {
  return j * 256 + i * 16 + (((k >> 3) ^ (i >> 2 & 1)) << 3) + (k & 7);
}

template <Arithmetic kArithmetic>
__device__ inline void mma_m16n8k16(float (&c)[4], const std::uint32_t (&a)[4], uint2 b) {
  if constexpr (kArithmetic == Arithmetic::bf16)
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, "
        "{%8,%9}, "
        "{%0,%1,%2,%3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b.x), "r"(b.y));
  else
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
        "{%0,%1,%2,%3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b.x), "r"(b.y));
}

/// One warp's walk over tiles; kBlocks times 8 columns from `first_block` on.
template <Arithmetic kArithmetic, int kBlocks>
class TileWalk {
  using Core = hlsto::Core<kArithmetic>;
  using Element = typename Core::Element;
  static constexpr int kParts = Core::kParts;

 public:
  __device__ TileWalk(const DeviceChain& x, const TunedTiles& tiles, unsigned first_block,
                      Element* shared)
      : x_(x), tiles_(tiles), first_block_(first_block), lane_(threadIdx.x % 32), cells_(shared) {
    clear_cells();
    clear_sums();
  }

  __device__ void run(Count first, Count last) {
    Index at = ~Index{0};
    for (Count t = first; t < last; ++t) {
      const Count tile = tiles_.order[t];
      const std::uint32_t* const key = x_.tile_index + tile * x_.tile_words;
      const Index here = decode(key, x_.place[x_.slice]);
      if (here != at && at != ~Index{0}) add_sums(at);
      at = here;
      spread(tile);
      multiply(key);
      clear_cells();
    }
    if (at != ~Index{0}) add_sums(at);
  }

 private:
  __device__ void clear_sums() {
#pragma unroll
    for (int n = 0; n < kBlocks; ++n)
#pragma unroll
      for (int e = 0; e < 4; ++e) sum_[n][e] = 0;
  }
  __device__ void clear_cells() {
    __syncwarp();
    constexpr unsigned kVectors = kParts * kTileCells * sizeof(Element) / sizeof(uint4);
    for (unsigned v = lane_; v < kVectors; v += 32)
      reinterpret_cast<uint4*>(cells_)[v] = make_uint4(0, 0, 0, 0);
    __syncwarp();
  }

  /// Each lane takes four words of the bitmap, whose bits are 128 consecutive cells, and stores
  /// their values.
  __device__ void spread(Count tile) {
    const uint4 words = reinterpret_cast<const uint4*>(x_.bitmap + tile * (kTileCells / 32))[lane_];
    const unsigned own = __popc(words.x) + __popc(words.y) + __popc(words.z) + __popc(words.w);
    unsigned upto = own;
    for (unsigned step = 1; step < 32; step *= 2) {
      const unsigned other = __shfl_up_sync(~0u, upto, step);
      if (lane_ >= step) upto += other;
    }
    Count value = x_.value_start[tile] + upto - own;
    value = spread_word(words.x, 4 * lane_, value);
    value = spread_word(words.y, 4 * lane_ + 1, value);
    value = spread_word(words.z, 4 * lane_ + 2, value);
    spread_word(words.w, 4 * lane_ + 3, value);
    __syncwarp();
  }
  __device__ Count spread_word(std::uint32_t bits, unsigned word, Count value) {
    for (; bits != 0; bits &= bits - 1, ++value) {
      const unsigned cell = word * 32 + __ffs(static_cast<int>(bits)) - 1;
      const unsigned at = place_of(coordinate(cell, x_.slice), coordinate(cell, x_.row),
                                   coordinate(cell, x_.column));
      const float v = value_at(x_.dense_values, x_.values, value);
#pragma unroll
      for (int p = 0; p < kParts; ++p) cells_[p * kTileCells + at] = Core::part_of(v, p);
    }
    return value;
  }
  __device__ static unsigned coordinate(unsigned cell, int place) {
    return cell >> (4 * (2 - place)) & 15u;
  }

  __device__ void multiply(const std::uint32_t* key) {
    uint2 c[kParts][kBlocks];
    const Count block =
        (Count{decode(key, x_.place[x_.column])} * tiles_.column_blocks + first_block_) * 32 +
        lane_;
#pragma unroll
    for (int p = 0; p < kParts; ++p)
#pragma unroll
      for (int n = 0; n < kBlocks; ++n) c[p][n] = tiles_.fragments[p][block + 32 * n];
    float2 kept[kBlocks];
    weigh(key, kept);

    const DeviceFactor& rows = x_.factor[x_.mode_at[x_.row]];
    const Index begin = decode(key, x_.place[x_.row]) << 4;
    for (unsigned j = 0; j < 16 && begin + j < x_.row_length; ++j) {
      std::uint32_t a[kParts][4];
#pragma unroll
      for (int p = 0; p < kParts; ++p) fetch(a[p], p, j);
      const float* const b = rows.rows + Count{begin + j} * rows.columns;
#pragma unroll
      for (int n = 0; n < kBlocks; ++n) {
        float xc[4] = {0, 0, 0, 0};
        if constexpr (kParts == 2) {
          mma_m16n8k16<kArithmetic>(xc, a[1], c[0][n]);
          mma_m16n8k16<kArithmetic>(xc, a[0], c[1][n]);
        }
        mma_m16n8k16<kArithmetic>(xc, a[0], c[0][n]);
        const float2 weight = column_pair(b, n);
        const float low = weight.x * kept[n].x, high = weight.y * kept[n].y;
        sum_[n][0] = fmaf(xc[0], low, sum_[n][0]), sum_[n][1] = fmaf(xc[1], high, sum_[n][1]);
        sum_[n][2] = fmaf(xc[2], low, sum_[n][2]), sum_[n][3] = fmaf(xc[3], high, sum_[n][3]);
      }
    }
  }

  /// X(:, j, :) as the A operand of m16n8k16: four 8 x 8 blocks, rows 0 to 7 and 8 to 15, then both
  /// again for the columns from 8 on. A lane names the row that it passes to the fetch.
  __device__ void fetch(std::uint32_t (&a)[4], int part, unsigned j) const {
    const unsigned i = lane_ % 16, k = lane_ / 16 * 8;
    const auto from = static_cast<std::uint32_t>(
        __cvta_generic_to_shared(cells_ + part * kTileCells + place_of(i, j, k)));
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(a[0]), "=r"(a[1]), "=r"(a[2]), "=r"(a[3])
                 : "r"(from)
                 : "memory");
  }

  /// Columns 2 (lane % 4) and the next of block n of a row; zeros beyond the last.
  __device__ float2 column_pair(const float* row, int n) const {
    const unsigned r = column(n);
    return make_float2(r < x_.width ? __ldg(row + r) : 0,
                       r + 1 < x_.width ? __ldg(row + r + 1) : 0);
  }
  __device__ unsigned column(int n) const {
    return (first_block_ + n) * kFragmentColumns + lane_ % 4 * 2;
  }

  /// The rows of the kept modes, which one tile has one index of.
  __device__ void weigh(const std::uint32_t* key, float2 (&kept)[kBlocks]) const {
#pragma unroll
    for (int n = 0; n < kBlocks; ++n) kept[n] = make_float2(1, 1);
    for (int place = 3; place < x_.order; ++place) {
      const DeviceFactor& f = x_.factor[x_.mode_at[place]];
      const float* const row = f.rows + Count{decode(key, x_.place[place])} * f.columns;
#pragma unroll
      for (int n = 0; n < kBlocks; ++n) {
        const float2 w = column_pair(row, n);
        kept[n].x *= w.x, kept[n].y *= w.y;
      }
    }
  }

  /// Sums of rows lane / 4 and 8 further on of the output's tile.
  __device__ void add_sums(Index tile_row) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const Index i = (tile_row << 4) + lane_ / 4 + 8 * half;
      if (i >= x_.slice_length) continue;
      float* const to = x_.out + Count{i} * x_.width;
#pragma unroll
      for (int n = 0; n < kBlocks; ++n) {
        const unsigned r = column(n);
        if (r < x_.width) atomicAdd(to + r, sum_[n][2 * half]);
        if (r + 1 < x_.width) atomicAdd(to + r + 1, sum_[n][2 * half + 1]);
      }
    }
    clear_sums();
  }

  const DeviceChain& x_;
  const TunedTiles& tiles_;
  const unsigned first_block_, lane_;
  Element* const cells_;
  float sum_[kBlocks][4];
};

/// 32 sparse nonzeros: each lane reads one, then all lanes together take one after the other, a
/// lane a column. Neighbours that meet in an output row are added up before they reach it.
__device__ inline void add_nonzeros(const DeviceChain& x, Count first) {
  const unsigned lane = threadIdx.x % 32;
  const Count own = first + lane < x.nonzeros ? first + lane : x.nonzeros - 1;
  const std::uint32_t* const key = x.nonzero_index + own * x.nonzero_words;
  Index index[kMaxFactors];
#pragma unroll
  for (int m = 0; m < kMaxFactors; ++m) index[m] = m < x.order ? decode(key, x.index[m]) : 0;
  const float value = first + lane < x.nonzeros ? value_at(x.sparse_values, x.values, own) : 0;
  Index output = 0;
#pragma unroll
  for (int m = 0; m < kMaxFactors; ++m)
    if (m == x.mode) output = index[m];

  const int count = static_cast<int>(x.nonzeros - first < 32 ? x.nonzeros - first : 32);
  for (unsigned r = lane; r - lane < x.width; r += 32) {
    Index row = __shfl_sync(~0u, output, 0);
    float sum = 0;
    for (int p = 0; p < count; ++p) {
      const Index next = __shfl_sync(~0u, output, p);
      if (next != row && r < x.width) atomicAdd(x.out + Count{row} * x.width + r, sum);
      if (next != row) sum = 0;
      row = next;
      float product = __shfl_sync(~0u, value, p);
#pragma unroll
      for (int m = 0; m < kMaxFactors; ++m) {
        const Index i = __shfl_sync(~0u, index[m], p);
        if (m < x.order && m != x.mode && r < x.width)
          product *= __ldg(x.factor[m].rows + Count{i} * x.factor[m].columns + r);
      }
      sum += product;
    }
    if (r < x.width) atomicAdd(x.out + Count{row} * x.width + r, sum);
  }
}

/// Thread blocks (b, w) of the tiles' part walk for columns 8 kBlocks w and on; those beyond take
/// nonzeros, in walk 0 alone.
template <Arithmetic kArithmetic, int kBlocks>
__global__ void __launch_bounds__(32 * kTunedWarps<kArithmetic>)
    tuned(const DeviceChain x, const TunedTiles tiles) {
  extern __shared__ __align__(128) char shared[];
  using Core = hlsto::Core<kArithmetic>;
  const unsigned warps = kTunedWarps<kArithmetic>, warp = threadIdx.x / 32;
  if (blockIdx.x < tiles.tile_thread_blocks) {
    auto* const cells =
        reinterpret_cast<typename Core::Element*>(shared) + warp * Core::kParts * kTileCells;
    const Count first = (Count{blockIdx.x} * warps + warp) * tiles.tiles_per_warp;
    const Count last = first + tiles.tiles_per_warp;
    TileWalk<kArithmetic, kBlocks>(x, tiles, blockIdx.y * kBlocks, cells)
        .run(first, last < x.tiles ? last : x.tiles);
    return;
  }
  const Count first = (Count{blockIdx.x - tiles.tile_thread_blocks} * warps + warp) * 32;
  if (blockIdx.y == 0 && first < x.nonzeros) add_nonzeros(x, first);
}

}  // namespace retensor::hlsto
