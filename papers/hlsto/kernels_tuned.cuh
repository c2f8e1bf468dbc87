// MTTKRP of dense tiles where only the diagonal of the paper's second product is computed.
//
// With j fixed instead of i, X(:, j, :) C is a product of 16 x 16 by 16 x R whose row i belongs to
// output row i, and A(i, r) += B(j, r) (X(:, j, :) C)(i, r) is one multiply-add for each element
// that a thread holds: no second MMA, no operand rounded in between, no transport between threads.
// A warp walks over tiles in the order of their output rows and keeps the sums in registers as long
// as these stay the same; then they are added to the result, four columns at once. While it works
// on a tile, bitmap and values of the next are on their way.
//
// A tile is spread out in shared memory, slice j after slice j, so that one ldmatrix fetches
// X(:, j, :) as operand. The two halves of a row of 16 cells stand in turn in the first and the
// second place every four rows, so that neither the eight rows of a fetch meet in a bank. Factor C
// lies in global memory as the fragments want it, with its columns dealt out to a pair of fragments
// so that a thread's sums are of four neighbouring columns.
#pragma once

#include "common/device/vec.cuh"
#include "papers/hlsto/kernels_cuda.cuh"

namespace retensor::hlsto {

using device::Vec;

inline constexpr unsigned kFragmentColumns = 8;  // of m16n8k16
inline constexpr unsigned kPairColumns = 2 * kFragmentColumns;
inline constexpr int kMostPairs = 2;  // of fragments in a walk
inline constexpr unsigned kTileCells = 16 * 16 * 16;
inline constexpr unsigned kStagedVectors = 2;   // 16 bytes of values that a lane loads ahead
inline constexpr unsigned kGroupNonzeros = 32;  // sparse ones that a group of lanes adds up
inline constexpr int kInFlight = 4;             // of them whose factor rows are loaded at a time
inline constexpr unsigned kSparseThreads = 256;
inline constexpr unsigned kWholeWarp = ~0u;
inline constexpr Index kNoRow = ~Index{0};

/// Column of the factor that fragment n of a walk has as its column q: those of a pair of fragments
/// that one thread holds, 2 t and 2 t + 1 of both, are neighbours.
__host__ __device__ inline unsigned factor_column(unsigned n, unsigned q) {
  return n / 2 * kPairColumns + q / 2 * 4 + n % 2 * 2 + q % 2;
}

/// What the tuned kernel gets beside the chain, whose factor rows and output rows are `stride`
/// elements apart, padded by zeros to whole walks.
struct TunedTiles {
  const std::uint32_t* order = nullptr;  ///< tiles by their place along the output's mode
  /// Of the columns' factor, for 16 rows and 8 columns: the 32 lanes' parts of the B operand, one
  /// array per part.
  const uint2* fragments[2] = {};
  unsigned column_blocks = 0;  ///< of 8 columns, all of the factor, padded to whole walks
  unsigned stride = 0;
  unsigned tiles_per_warp = 1;
  int others = 0;  ///< modes but the output's
  int other[kMaxFactors - 1] = {};
};

/// Values as they are stored where they lose nothing that the arithmetic keeps.
template <Arithmetic kArithmetic>
using Stored = std::conditional_t<kArithmetic == Arithmetic::split_fp16, float, std::uint16_t>;

/// Memory and size of a thread block.
template <Arithmetic kArithmetic>
struct TunedBlock {
  static constexpr int kParts = Core<kArithmetic>::kParts;
  static constexpr unsigned kWarps = kParts == 2 ? 4 : 8;
  /// Thread blocks of a multiprocessor that registers shall allow for.
  static constexpr unsigned kAtOnce = kParts == 2 ? 3 : 2;
  static constexpr unsigned kStaged = kStagedVectors * 32 * sizeof(uint4);
  static constexpr unsigned kRowBytes = 16 * kMostPairs * kPairColumns * sizeof(float);
  static constexpr unsigned kWarpBytes =
      kParts * kTileCells * sizeof(std::uint16_t) + kStaged + kRowBytes;
  static constexpr unsigned kTable = 32 * sizeof(std::uint32_t);
  static constexpr unsigned kBytes = kTable + kWarps * kWarpBytes;
};

/// Where a cell stands in shared memory: i along the output, j, k. Every bit of the result is the
/// exclusive or of bits of i, j and k, so that place_of(a ^ b) = place_of(a) ^ place_of(b).
__device__ inline unsigned place_of(unsigned i, unsigned j, unsigned k) {
  return j * 256 + i * 16 + (((k >> 3) ^ (i >> 2 & 1)) << 3) + (k & 7);
}

/// The same of a cell's number.
__device__ inline unsigned place_of(const DeviceChain& x, unsigned cell) {
  const auto along = [&](int place) { return cell >> (4 * (2 - place)) & 15u; };
  return place_of(along(x.slice), along(x.row), along(x.column));
}

/// A B of m16n8k16.
template <Arithmetic kArithmetic>
__device__ inline void multiply_m16n8k16(float (&d)[4], const std::uint32_t (&a)[4], uint2 b,
                                         const float (&c)[4]) {
  if constexpr (kArithmetic == Arithmetic::bf16)
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, "
        "{%8,%9}, {%10,%11,%12,%13};"
        : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b.x), "r"(b.y), "f"(c[0]), "f"(c[1]),
          "f"(c[2]), "f"(c[3]));
  else
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
        "{%10,%11,%12,%13};"
        : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b.x), "r"(b.y), "f"(c[0]), "f"(c[1]),
          "f"(c[2]), "f"(c[3]));
}

/// Adds a lane's four columns to an output row, as far as the row goes.
__device__ inline void add_to_row(const DeviceChain& x, Index row, unsigned column,
                                  const Vec<float>& sum) {
  float* const to = x.out + Count{row} * x.width + column;
  if (x.width % 4 == 0) {
    if (column < x.width) sum.reduce_into(to);
    return;
  }
  const float part[4] = {sum.v.x, sum.v.y, sum.v.z, sum.v.w};
#pragma unroll
  for (unsigned e = 0; e < 4; ++e)
    if (column + e < x.width) atomicAdd(to + e, part[e]);
}

/// One warp's walk over tiles; kPairs times 16 columns from `first_column` on.
template <Arithmetic kArithmetic, int kPairs>
class TileWalk {
  using Block = TunedBlock<kArithmetic>;
  using Value = Stored<kArithmetic>;
  static constexpr int kParts = Block::kParts;
  static constexpr unsigned kPerVector = sizeof(uint4) / sizeof(Value);
  static constexpr unsigned kStagedValues = Block::kStaged / sizeof(Value);

  /// A tile; each lane holds one of 32.
  struct Tile {
    std::uint32_t number = 0, values = 0;
    Count first_value = 0;
    Index slice = 0, row = 0, column = 0;  ///< in tiles
    __device__ Tile of_lane(int lane) const {
      const auto from = [&](auto v) { return __shfl_sync(kWholeWarp, v, lane); };
      return {from(number), from(values), from(first_value), from(slice), from(row), from(column)};
    }
  };
  /// Vectors of a row of B within the walk, and of those of a tile that a lane loads.
  static constexpr unsigned kRowVectors = 4 * kPairs, kOwnRowVectors = 16 * kRowVectors / 32;
  /// What a lane has loaded of a tile: four words of the bitmap, 128 consecutive cells, its share
  /// of the first values, and of the 16 rows of B.
  struct Ahead {
    uint4 words;
    uint4 values[kStagedVectors];
    Vec<float> rows[kOwnRowVectors];
  };

 public:
  __device__ TileWalk(const DeviceChain& x, const TunedTiles& tiles, char* shared)
      : x_(x),
        tiles_(tiles),
        lane_(threadIdx.x % 32),
        first_pair_(blockIdx.y * kPairs),
        table_(reinterpret_cast<const std::uint32_t*>(shared)),
        cells_(reinterpret_cast<std::uint16_t*>(shared + Block::kTable +
                                                threadIdx.x / 32 * Block::kWarpBytes)),
        staged_(cells_ + kParts * kTileCells),
        rows_(reinterpret_cast<float*>(staged_ + Block::kStaged / sizeof(std::uint16_t))) {
#pragma unroll
    for (unsigned w = 0; w < 4; ++w) word_place_[w] = place_of(x, (4 * lane_ + w) * 32);
    clear_cells();
    clear_sums();
  }

  __device__ void run(Count first, Count last) {
    for (Count from = first; from < last; from += 32)
      walk(from, static_cast<int>(last - from < 32 ? last - from : 32));
    add_sums();
  }

 private:
  /// `count` tiles, 32 at most.
  __device__ void walk(Count first, int count) {
    const Tile own = lane_ < static_cast<unsigned>(count) ? tile_at(first + lane_) : Tile{};
    Ahead ahead = load(own.of_lane(0));
    for (int t = 0; t < count; ++t) {
      const Tile now = own.of_lane(t);
      const Ahead loaded = ahead;
      if (t + 1 < count) ahead = load(own.of_lane(t + 1));
      if (now.slice != at_) add_sums();
      at_ = now.slice;
      uint2 c[kParts][2 * kPairs];
      load_fragments(now, c);
      spread(now, loaded);
      multiply(now, c);
      clear_cells();
    }
  }

  __device__ Tile tile_at(Count t) const {
    const std::uint32_t number = tiles_.order[t];
    const std::uint32_t* const key = x_.tile_index + Count{number} * x_.tile_words;
    const Count first = x_.value_start[number];
    return {number,
            static_cast<std::uint32_t>(x_.value_start[number + 1] - first),
            first,
            decode(key, x_.place[x_.slice]),
            decode(key, x_.place[x_.row]),
            decode(key, x_.place[x_.column])};
  }

  __device__ Ahead load(const Tile& tile) const {
    Ahead a;
    a.words = __ldg(reinterpret_cast<const uint4*>(x_.bitmap) + Count{tile.number} * 32 + lane_);
    load_values(tile, 0, a);
    const float* const rows = x_.factor[x_.mode_at[x_.row]].rows + first_pair_ * kPairColumns;
    const Index begin = tile.row << 4, last = x_.row_length - 1;
#pragma unroll
    for (unsigned q = 0; q < kOwnRowVectors; ++q) {
      const unsigned v = 32 * q + lane_, j = v / kRowVectors;
      // Cells beyond the last row are zero.
      a.rows[q] = Vec<float>::load(rows + Count{min(begin + j, last)} * tiles_.stride +
                                   v % kRowVectors * 4);
    }
    return a;
  }
  /// Whole vectors around the values from `from` on, counted from the first whole vector.
  __device__ void load_values(const Tile& tile, unsigned from, Ahead& a) const {
    const Count begin = tile.first_value / kPerVector + from / kPerVector;
    const Count end = (tile.first_value + tile.values + kPerVector - 1) / kPerVector;
#pragma unroll
    for (unsigned q = 0; q < kStagedVectors; ++q) {
      const Count v = begin + 32 * q + lane_;
      if (v < end) a.values[q] = __ldg(static_cast<const uint4*>(x_.dense_values) + v);
    }
  }

  __device__ void clear_sums() {
#pragma unroll
    for (int m = 0; m < kPairs; ++m)
#pragma unroll
      for (int half = 0; half < 2; ++half) sum_[m][half] = Vec<float>::splat(0);
  }
  __device__ void clear_cells() {
    __syncwarp();
    constexpr unsigned kVectors = kParts * kTileCells * sizeof(std::uint16_t) / sizeof(uint4);
#pragma unroll 8
    for (unsigned v = lane_; v < kVectors; v += 32)
      reinterpret_cast<uint4*>(cells_)[v] = make_uint4(0, 0, 0, 0);
  }

  /// Stores the values in the cells whose bits are set, kStagedValues at a time.
  __device__ void spread(const Tile& tile, Ahead a) {
    std::uint32_t words[4] = {a.words.x, a.words.y, a.words.z, a.words.w};
    unsigned own = 0;
#pragma unroll
    for (const std::uint32_t word : words) own += __popc(word);
    unsigned upto = own;
#pragma unroll
    for (unsigned step = 1; step < 32; step *= 2) {
      const unsigned other = __shfl_up_sync(kWholeWarp, upto, step);
      if (lane_ >= step) upto += other;
    }
    const unsigned before = static_cast<unsigned>(tile.first_value % kPerVector);
    const unsigned end = before + tile.values;
    unsigned value[4] = {before + upto - own};
#pragma unroll
    for (int w = 1; w < 4; ++w) value[w] = value[w - 1] + __popc(words[w - 1]);
#pragma unroll
    for (unsigned q = 0; q < kOwnRowVectors; ++q) a.rows[q].store(rows_ + (32 * q + lane_) * 4);
    for (unsigned from = 0;; from += kStagedValues) {
      stage(a);
      spread_words(words, value, from);
      __syncwarp();
      if (from + kStagedValues >= end) return;
      load_values(tile, from + kStagedValues, a);
    }
  }
  __device__ void stage(const Ahead& a) {
#pragma unroll
    for (unsigned q = 0; q < kStagedVectors; ++q)
      reinterpret_cast<uint4*>(staged_)[32 * q + lane_] = a.values[q];
    __syncwarp();
  }
  /// A bit of each of the four words at a time, so that their ways to the cell overlap.
  __device__ void spread_words(std::uint32_t (&words)[4], unsigned (&value)[4], unsigned from) {
    const Value* const staged = reinterpret_cast<const Value*>(staged_);
    for (bool left = true; left;) {
      left = false;
#pragma unroll
      for (int w = 0; w < 4; ++w)
        if (words[w] != 0 && value[w] < from + kStagedValues) {
          put(word_place_[w] ^ table_[__ffs(static_cast<int>(words[w])) - 1],
              staged[value[w] - from]);
          words[w] &= words[w] - 1, ++value[w];
          left = true;
        }
    }
  }
  __device__ void put(unsigned place, std::uint16_t value) {
    cells_[place] = value;
  }
  __device__ void put(unsigned place, float value) {
    using Core = hlsto::Core<kArithmetic>;
#pragma unroll
    for (int p = 0; p < kParts; ++p)
      cells_[p * kTileCells + place] = __half_as_ushort(Core::part_of(value, p));
  }

  __device__ void load_fragments(const Tile& tile, uint2 (&c)[kParts][2 * kPairs]) const {
    const Count block = (Count{tile.column} * tiles_.column_blocks + 2 * first_pair_) * 32 + lane_;
#pragma unroll
    for (int p = 0; p < kParts; ++p)
#pragma unroll
      for (int n = 0; n < 2 * kPairs; ++n) c[p][n] = __ldg(tiles_.fragments[p] + block + 32 * n);
  }

  __device__ void multiply(const Tile& tile, const uint2 (&c)[kParts][2 * kPairs]) {
    Vec<float> kept[kPairs];
    weigh(tile, kept);
    std::uint32_t a[2][kParts][4];
    fetch(a[0], 0);
#pragma unroll
    for (unsigned j = 0; j < 16; ++j) {
      if (j < 15) fetch(a[(j + 1) % 2], j + 1);
      const float* const row = rows_ + j * kRowVectors * 4 + lane_ % 4 * 4;
#pragma unroll
      for (int m = 0; m < kPairs; ++m) {
        float low[4], high[4];
        multiply_fragment(a[j % 2], c, 2 * m, low);
        multiply_fragment(a[j % 2], c, 2 * m + 1, high);
        Vec<float> weight{*reinterpret_cast<const float4*>(row + m * kPairColumns)};
        if (x_.order > 3) weight.multiply(kept[m]);
        sum_[m][0].fma({make_float4(low[0], low[1], high[0], high[1])}, weight);
        sum_[m][1].fma({make_float4(low[2], low[3], high[2], high[3])}, weight);
      }
    }
  }
  __device__ static void multiply_fragment(const std::uint32_t (&a)[kParts][4],
                                           const uint2 (&c)[kParts][2 * kPairs], int n,
                                           float (&d)[4]) {
    constexpr float kZero[4] = {0, 0, 0, 0};
    if constexpr (kParts == 2) {
      multiply_m16n8k16<kArithmetic>(d, a[1], c[0][n], kZero);
      multiply_m16n8k16<kArithmetic>(d, a[0], c[1][n], d);
      multiply_m16n8k16<kArithmetic>(d, a[0], c[0][n], d);
    } else {
      multiply_m16n8k16<kArithmetic>(d, a[0], c[0][n], kZero);
    }
  }

  /// X(:, j, :) as the A operand of m16n8k16: four 8 x 8 blocks, rows 0 to 7 and 8 to 15, then both
  /// again for the columns from 8 on. A lane names the row that it passes to the fetch.
  __device__ void fetch(std::uint32_t (&a)[kParts][4], unsigned j) const {
    const unsigned i = lane_ % 16, k = lane_ / 16 * 8;
#pragma unroll
    for (int p = 0; p < kParts; ++p) {
      const auto from = static_cast<std::uint32_t>(
          __cvta_generic_to_shared(cells_ + p * kTileCells + place_of(i, j, k)));
      asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                   : "=r"(a[p][0]), "=r"(a[p][1]), "=r"(a[p][2]), "=r"(a[p][3])
                   : "r"(from)
                   : "memory");
    }
  }

  /// First of the lane's four columns of pair m.
  __device__ unsigned column(int m) const {
    return (first_pair_ + m) * kPairColumns + lane_ % 4 * 4;
  }

  /// The rows of the kept modes, which one tile has one index of.
  __device__ void weigh(const Tile& tile, Vec<float> (&kept)[kPairs]) const {
    const std::uint32_t* const key = x_.tile_index + Count{tile.number} * x_.tile_words;
#pragma unroll
    for (int m = 0; m < kPairs; ++m) kept[m] = Vec<float>::splat(1);
    for (int place = 3; place < x_.order; ++place) {
      const float* const row =
          x_.factor[x_.mode_at[place]].rows + Count{decode(key, x_.place[place])} * tiles_.stride;
#pragma unroll
      for (int m = 0; m < kPairs; ++m) kept[m].multiply(Vec<float>::load(row + column(m)));
    }
  }

  /// Sums of rows lane / 4 and 8 further on of the output's tile.
  __device__ void add_sums() {
    if (at_ == kNoRow) return;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const Index i = (at_ << 4) + lane_ / 4 + 8 * half;
      if (i >= x_.slice_length) continue;
#pragma unroll
      for (int m = 0; m < kPairs; ++m) add_to_row(x_, i, column(m), sum_[m][half]);
    }
    clear_sums();
  }

  const DeviceChain& x_;
  const TunedTiles& tiles_;
  const unsigned lane_, first_pair_;
  const std::uint32_t* const table_;  // place_of of the bits of a word
  std::uint16_t *const cells_, *const staged_;
  float* const rows_;       // of B, 16 of the walk's columns
  unsigned word_place_[4];  // of the first bit of each of the lane's words
  Index at_ = kNoRow;       // the output's tile that the sums are of
  Vec<float> sum_[kPairs][2];
};

/// Sparse nonzeros, which lie in the order of their output rows: a group of kLanes lanes, four
/// columns each, adds up kGroupNonzeros of them and adds a row to the result when it changes.
template <int kLanes>
__device__ void add_nonzeros(const DeviceChain& x, const TunedTiles& tiles, Count first) {
  const unsigned lane = threadIdx.x % kLanes;
  const unsigned column = (blockIdx.y * kLanes + lane) * 4;
  const auto from = [](auto v, int source) { return __shfl_sync(kWholeWarp, v, source, kLanes); };
  Index at = kNoRow;
  auto sum = Vec<float>::splat(0);
  for (unsigned base = 0; base < kGroupNonzeros; base += kLanes) {
    const Count own = first + base + lane;
    const Count safe = own < x.nonzeros ? own : x.nonzeros - 1;
    const std::uint32_t* const key = x.nonzero_index + safe * x.nonzero_words;
    const Index row = decode(key, x.index[x.mode]);
    Index index[kMaxFactors - 1];
#pragma unroll
    for (int k = 0; k < kMaxFactors - 1; ++k)
      if (k < tiles.others) index[k] = decode(key, x.index[tiles.other[k]]);
    const float value = own < x.nonzeros ? value_at(x.sparse_values, x.values, safe) : 0;
    for (int from_lane = 0; from_lane < kLanes; from_lane += kInFlight) {
      Vec<float> product[kInFlight];
#pragma unroll
      for (int p = 0; p < kInFlight; ++p) {
        product[p] = Vec<float>::splat(from(value, from_lane + p));
#pragma unroll
        for (int k = 0; k < kMaxFactors - 1; ++k)
          if (k < tiles.others)
            product[p].multiply(
                Vec<float>::load(x.factor[tiles.other[k]].rows +
                                 Count{from(index[k], from_lane + p)} * tiles.stride + column));
      }
#pragma unroll
      for (int p = 0; p < kInFlight; ++p) {
        const Index next = from(row, from_lane + p);
        if (next != at) {
          if (at != kNoRow) add_to_row(x, at, column, sum);
          sum = Vec<float>::splat(0);
          at = next;
        }
        sum.add(product[p]);
      }
    }
  }
  add_to_row(x, at, column, sum);
}

/// Thread blocks (b, w) walk over tiles for columns 16 kPairs w and on.
template <Arithmetic kArithmetic, int kPairs>
__global__ void __launch_bounds__(32 * TunedBlock<kArithmetic>::kWarps,
                                  TunedBlock<kArithmetic>::kAtOnce)
    walk_tiles(const DeviceChain x, const TunedTiles tiles) {
  extern __shared__ __align__(128) char shared[];
  constexpr unsigned kWarps = TunedBlock<kArithmetic>::kWarps;
  const unsigned warp = threadIdx.x / 32;
  if (warp == 0) reinterpret_cast<std::uint32_t*>(shared)[threadIdx.x] = place_of(x, threadIdx.x);
  __syncthreads();
  const Count first = (Count{blockIdx.x} * kWarps + warp) * tiles.tiles_per_warp;
  const Count last = first + tiles.tiles_per_warp;
  TileWalk<kArithmetic, kPairs>(x, tiles, shared).run(first, last < x.tiles ? last : x.tiles);
}

/// The sparse part, a kernel of its own: it leaves the shared memory to L1, where its rows are.
template <int kPairs>
__global__ void __launch_bounds__(kSparseThreads)
    add_sparse(const DeviceChain x, const TunedTiles tiles) {
  constexpr unsigned kLanes = 4 * kPairs;
  const Count warp = (Count{blockIdx.x} * kSparseThreads + threadIdx.x) / 32;
  const Count of_warp = warp * (32 / kLanes) * kGroupNonzeros;
  if (of_warp < x.nonzeros)
    add_nonzeros<kLanes>(x, tiles, of_warp + threadIdx.x % 32 / kLanes * kGroupNonzeros);
}

}  // namespace retensor::hlsto
