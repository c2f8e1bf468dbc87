// MTTKRP of dense tiles where only the diagonal of the paper's second product is computed.
//
// With j fixed instead of i, C^T X(:, j, :)^T is a product of R x 16 by 16 x 16 whose column i
// belongs to output row i, and A(i, r) += B(j, r) (C^T X(:, j, :)^T)(r, i) is one multiply-add for
// each element that a thread holds: no second MMA, no product rounded in between, no transport
// between threads. A warp walks over tiles in the order of their output rows and keeps the sums in
// registers as long as these stay the same; then they are added to the result. While it works on a
// tile, the list of the next is on its way.
//
// A tile comes as a list of places and values (format/tuned_device.cuh): a lane stores eight
// of them in shared memory, where every lane then finds both operands of slice j in 16 consecutive
// bytes, and puts zeros at the same places afterwards. Factor C lies in global memory as the
// fragments want it, with its columns dealt out so that a thread's sums are of neighbouring
// columns, and factor B as the rows of its tiles.
#pragma once

#include "common/device/loops.cuh"
#include "common/device/mma.cuh"
#include "common/device/vec.cuh"
#include "common/device/warp.cuh"
#include "papers/hlsto/format/hls_device.cuh"
#include "papers/hlsto/format/tensor_core_device.cuh"
#include "papers/hlsto/format/tuned_device.cuh"

namespace retensor::hlsto {

using device::kWholeWarp;
using device::Vec;

inline constexpr unsigned kFragmentColumns = 16;  ///< of the factor, rows of m16n8k16
inline constexpr int kInFlight = 4;  ///< sparse ones whose factor rows are loaded at a time
inline constexpr unsigned kVectorsAhead = 2;    ///< of a tile's list that a lane loads ahead
inline constexpr unsigned kGroupNonzeros = 32;  ///< sparse ones that a group of lanes adds up
inline constexpr unsigned kSparseThreads = 256;
inline constexpr unsigned kLayoutThreads = 256;
inline constexpr Index kNoRow = ~Index{0};

/// Column of a walk of kFragments fragments that fragment m has as its row: a lane holds rows
/// lane / 4 and 8 further on of each.
__host__ __device__ inline unsigned factor_column(unsigned fragments, unsigned m, unsigned row) {
  return row % 8 * 2 * fragments + 2 * m + row / 8;
}

/// What the tuned kernel gets beside the chain, whose factor rows are `stride` elements apart,
/// padded by zeros to whole walks.
struct TunedTiles {
  const ListedTile* tiles = nullptr;
  const uint4* places = nullptr;
  const uint4* values[2] = {};
  /// Of the columns' factor, for 16 rows and 16 columns: the 32 lanes' parts of the A operand, one
  /// array per part.
  const uint4* fragments[2] = {};
  /// Of the rows' factor, for 16 rows and a walk's columns: the eight lanes' parts of kSlices rows
  /// after one another, see Weights.
  const uint4* weights = nullptr;
  unsigned column_blocks = 0;  ///< of 16 columns, all of a factor, padded to whole walks
  unsigned stride = 0;
  unsigned tiles_per_warp = 1;
  int others = 0;  ///< modes but the output's, the longest last
  int other[kMaxFactors - 1] = {};
};

/// Memory and size of a thread block.
template <Arithmetic kArithmetic>
struct TunedBlock {
  static constexpr int kParts = Core<kArithmetic>::kParts;
  static constexpr unsigned kWarps = 4;
  /// Thread blocks of a multiprocessor that registers shall allow for.
  static constexpr unsigned kAtOnce = kParts == 2 ? 3 : 4;
  /// Elements of a spread tile with the place for padding.
  static constexpr unsigned kPartCells = kTileCells + 8;
  static constexpr unsigned kBytes = kWarps * kParts * kPartCells * sizeof(std::uint16_t);
};

static_assert(TunedBlock<Arithmetic::split_fp16>::kBytes <= device::kSharedOfEveryChip);

/// 16 bytes of factor B: what a lane has of kSlices consecutive rows, its columns of one after the
/// other; as operands of the tensor core are, or in single precision where these are split.
template <Arithmetic kArithmetic, int kFragments>
struct alignas(16) Weights {
  using Element = std::conditional_t<Core<kArithmetic>::kParts == 2, float,
                                     typename Core<kArithmetic>::Element>;
  static constexpr int kColumns = 2 * kFragments;
  static constexpr int kSlices = sizeof(uint4) / (kColumns * sizeof(Element));
  Element of[kSlices][kColumns];

  __device__ float at(int slice, int column) const { return in_float(of[slice][column]); }

 private:
  __device__ static float in_float(float x) { return x; }
  __device__ static float in_float(__half x) { return __half2float(x); }
  __device__ static float in_float(__nv_bfloat16 x) { return __bfloat162float(x); }
};

/// A factor in single precision, rows `stride` elements apart, with zeros beyond its last column.
struct FactorRows {
  const float* rows = nullptr;
  Count count = 0;
  unsigned stride = 0;
  __device__ float at(Count row, unsigned column) const {
    return row < count ? rows[row * stride + column] : 0.0f;
  }
};

/// The columns' and the rows' factor as the tensor core wants them, made anew by each run: where
/// they lie, their parts of 16 bytes, and those parts' numbers.
struct FactorLayout {
  FactorRows columns, rows;
  uint4* fragments[2] = {};
  uint4* weights = nullptr;
  Count fragment_vectors = 0, weight_vectors = 0;
  unsigned column_blocks = 0;
};

/// Lane's part of the A operand of m16n8k16: of 16 rows and 16 columns lane l has columns l / 4 and
/// 8 further on of those that `factor_column` deals out, in rows 2 (l % 4), the next, and both 8
/// further on.
template <Arithmetic kArithmetic, int kFragments>
__device__ void lay_out_fragment(const FactorLayout& x, Count vector) {
  using C = Core<kArithmetic>;
  const unsigned lane = static_cast<unsigned>(vector % 32);
  const unsigned block = static_cast<unsigned>(vector / 32 % x.column_blocks);
  const Count first = vector / 32 / x.column_blocks * kFragmentEdge + lane % 4 * 2;
  const unsigned walk = block / kFragments * kFragments * kFragmentColumns;
#pragma unroll
  for (int p = 0; p < C::kParts; ++p) {
    const auto bits = [&](Count row, unsigned column) -> std::uint32_t {
      const auto part = C::part_of(x.columns.at(row, column), p);
      return reinterpret_cast<const std::uint16_t&>(part);
    };
    const auto pair = [&](Count row, unsigned of_fragment) {
      const unsigned column = walk + factor_column(kFragments, block % kFragments, of_fragment);
      return bits(row, column) | bits(row + 1, column) << 16;
    };
    const unsigned q = lane / 4;
    x.fragments[p][vector] = {pair(first, q), pair(first, q + 8), pair(first + 8, q),
                              pair(first + 8, q + 8)};
  }
}

/// Weights of a lane by tiles of 16 rows and by walks.
template <Arithmetic kArithmetic, int kFragments>
__device__ void lay_out_weights(const FactorLayout& x, Count vector) {
  using W = Weights<kArithmetic, kFragments>;
  constexpr unsigned kSteps = kFragmentEdge / W::kSlices;
  const unsigned walks = x.column_blocks / kFragments;
  const Count step = vector / 8, walk = step / kSteps;
  const Count row = walk / walks * kFragmentEdge + step % kSteps * W::kSlices;
  const unsigned column = static_cast<unsigned>(walk % walks * 8 + vector % 8) * W::kColumns;
  W weights;
#pragma unroll
  for (int s = 0; s < W::kSlices; ++s)
#pragma unroll
    for (int c = 0; c < W::kColumns; ++c) {
      const float factor = x.rows.at(row + s, column + c);
      if constexpr (Core<kArithmetic>::kParts == 2)
        weights.of[s][c] = factor;
      else
        weights.of[s][c] = Core<kArithmetic>::part_of(factor, 0);
    }
  reinterpret_cast<W*>(x.weights)[vector] = weights;
}

template <Arithmetic kArithmetic, int kFragments>
__global__ void __launch_bounds__(kLayoutThreads) lay_out_factors(FactorLayout x) {
  device::for_each_of_grid(x.fragment_vectors + x.weight_vectors, [&](Count i) {
    if (i < x.fragment_vectors)
      lay_out_fragment<kArithmetic, kFragments>(x, i);
    else
      lay_out_weights<kArithmetic, kFragments>(x, i - x.fragment_vectors);
  });
}

/// d += A B, m16n8k16.
template <Arithmetic kArithmetic>
__device__ inline void multiply_add(float (&d)[4], uint4 a, std::uint32_t b0, std::uint32_t b1) {
  constexpr auto kType =
      kArithmetic == Arithmetic::bf16 ? device::MmaType::bf16 : device::MmaType::f16;
  device::multiply_add<kType>(d, a.x, a.y, a.z, a.w, b0, b1);
}

/// Adds neighbouring columns to an output row, as far as the row goes.
template <int kCount>
__device__ inline void add_to_row(const DeviceChain& x, Index row, unsigned column,
                                  const float (&sum)[kCount]) {
  float* const to = x.out + Count{row} * x.width + column;
  if (kCount == 4 && x.width % 4 == 0) {
    if (column < x.width)
      Vec<float>{make_float4(sum[0], sum[1], sum[kCount - 2], sum[kCount - 1])}.reduce_into(to);
    return;
  }
#pragma unroll
  for (unsigned e = 0; e < kCount; ++e)
    if (column + e < x.width) atomicAdd(to + e, sum[e]);
}

/// One warp's walk over tiles; kFragments times 16 columns.
template <Arithmetic kArithmetic, int kFragments, bool kKept>
class TileWalk {
  using Block = TunedBlock<kArithmetic>;
  static constexpr int kParts = Block::kParts;
  static constexpr int kColumns = 2 * kFragments;  // of a lane
  using Columns = std::conditional_t<kFragments == 1, float2, float4>;

  /// What a lane has loaded of a tile's list.
  struct Ahead {
    uint4 places[kVectorsAhead];
    uint4 values[kParts][kVectorsAhead];
  };
  using Fragments = uint4[kParts][kFragments];

 public:
  __device__ TileWalk(const DeviceChain& x, const TunedTiles& tiles, char* shared)
      : x_(x),
        tiles_(tiles),
        lane_(threadIdx.x % 32),
        column_(blockIdx.y * kFragments * kFragmentColumns + lane_ / 4 * kColumns),
        cells_(shared + threadIdx.x / 32 * kParts * kPartBytes) {
    clear_all();
    clear_sums();
  }

  __device__ void run(Count first, Count last) {
    for (Count from = first; from < last; from += 32)
      walk(from, static_cast<int>(last - from < 32 ? last - from : 32));
    add_sums();
  }

 private:
  static constexpr unsigned kPartBytes = Block::kPartCells * sizeof(std::uint16_t);

  __device__ ListedTile tile_of(const ListedTile& own, int lane) const {
    const auto from = [&](auto v) { return __shfl_sync(kWholeWarp, v, lane); };
    ListedTile tile{from(own.first), from(own.vectors), from(own.slice), from(own.row),
                    from(own.column)};
    if constexpr (kKept)
      for (int k = 0; k < kMaxFactors - kTiledModes; ++k) tile.kept[k] = from(own.kept[k]);
    return tile;
  }

  /// `count` tiles, 32 at most.
  __device__ void walk(Count first, int count) {
    const Count last = first + static_cast<Count>(count) - 1;
    const ListedTile own = tiles_.tiles[first + lane_ < last ? first + lane_ : last];
    ListedTile next = tile_of(own, 0);
    Ahead ahead = load(next);
    for (int t = 0; t < count; ++t) {
      const ListedTile now = next;
      const Ahead loaded = ahead;
      if (t + 1 < count) {
        next = tile_of(own, t + 1);
        ahead = load(next);
      }
      if (now.slice != at_) add_sums();
      at_ = now.slice;
      Fragments c;
      load_fragments(now, c);
      spread(now, loaded);
      multiply(now, c);
      clear(now, loaded);
    }
  }

  __device__ Ahead load(const ListedTile& tile) const {
    Ahead a;
#pragma unroll
    for (unsigned q = 0; q < kVectorsAhead; ++q)
      if (32 * q + lane_ < tile.vectors) load(tile, 32 * q + lane_, q, a);
    return a;
  }
  __device__ void load(const ListedTile& tile, unsigned vector, unsigned q, Ahead& a) const {
    a.places[q] = __ldg(tiles_.places + Count{tile.first} + vector);
#pragma unroll
    for (int p = 0; p < kParts; ++p)
      a.values[p][q] = __ldg(tiles_.values[p] + Count{tile.first} + vector);
  }

  /// Stores the values at their places.
  __device__ void spread(const ListedTile& tile, const Ahead& loaded) {
#pragma unroll
    for (unsigned q = 0; q < kVectorsAhead; ++q)
      if (32 * q + lane_ < tile.vectors)
#pragma unroll
        for (int p = 0; p < kParts; ++p) put(p, loaded.places[q], loaded.values[p][q]);
    for (unsigned v = 32 * kVectorsAhead + lane_; v < tile.vectors; v += 32) {
      Ahead more;
      load(tile, v, 0, more);
#pragma unroll
      for (int p = 0; p < kParts; ++p) put(p, more.places[0], more.values[p][0]);
    }
    __syncwarp();
  }
  /// Puts zeros there again.
  __device__ void clear(const ListedTile& tile, const Ahead& loaded) {
    __syncwarp();
    if (tile.vectors > 32 * kVectorsAhead) return clear_all();
#pragma unroll
    for (unsigned q = 0; q < kVectorsAhead; ++q)
      if (32 * q + lane_ < tile.vectors)
#pragma unroll
        for (int p = 0; p < kParts; ++p) put(p, loaded.places[q], make_uint4(0, 0, 0, 0));
    __syncwarp();
  }
  __device__ void clear_all() {
#pragma unroll 4
    for (unsigned v = lane_; v < kParts * kPartBytes / sizeof(uint4); v += 32)
      reinterpret_cast<uint4*>(cells_)[v] = make_uint4(0, 0, 0, 0);
    __syncwarp();
  }
  __device__ void put(int part, uint4 places, uint4 values) {
    const std::uint32_t to[4] = {places.x, places.y, places.z, places.w};
    const std::uint32_t value[4] = {values.x, values.y, values.z, values.w};
    char* const cells = cells_ + part * kPartBytes;
#pragma unroll
    for (int w = 0; w < 4; ++w) {
      *reinterpret_cast<std::uint16_t*>(cells + (to[w] & 0xffffu)) =
          static_cast<std::uint16_t>(value[w]);
      *reinterpret_cast<std::uint16_t*>(cells + (to[w] >> 16)) =
          static_cast<std::uint16_t>(value[w] >> 16);
    }
  }

  __device__ void load_fragments(const ListedTile& tile, Fragments& c) const {
    const Count block =
        (Count{tile.column} * tiles_.column_blocks + blockIdx.y * kFragments) * 32 + lane_;
#pragma unroll
    for (int p = 0; p < kParts; ++p)
#pragma unroll
      for (int m = 0; m < kFragments; ++m) c[p][m] = __ldg(tiles_.fragments[p] + block + 32 * m);
  }

  __device__ void multiply(const ListedTile& tile, const Fragments& c) {
    float kept[kColumns];
    if constexpr (kKept) weigh(tile, kept);
    using Weights = hlsto::Weights<kArithmetic, kFragments>;
    constexpr int kSlices = Weights::kSlices, kSteps = 16 / kSlices, kUnroll = 4 / kSlices;
    const uint4* const weights =
        tiles_.weights + (Count{tile.row} * gridDim.y + blockIdx.y) * kSteps * 8 + lane_ / 4;
#pragma unroll kUnroll
    for (int step = 0; step < kSteps; ++step) {
      const uint4 loaded = __ldg(weights + step * 8);
      const auto weight = reinterpret_cast<const Weights&>(loaded);
#pragma unroll
      for (int s = 0; s < kSlices; ++s) {
        float w[kColumns];
#pragma unroll
        for (int r = 0; r < kColumns; ++r)
          w[r] = kKept ? kept[r] * weight.at(s, r) : weight.at(s, r);
        multiply_slice(step * kSlices + s, c, w);
      }
    }
  }
  __device__ void multiply_slice(int j, const Fragments& c, const float (&weight)[kColumns]) {
    uint4 b[kParts];
#pragma unroll
    for (int p = 0; p < kParts; ++p)
      b[p] = reinterpret_cast<const uint4*>(cells_ + p * kPartBytes)[j * 32 + lane_];
#pragma unroll
    for (int m = 0; m < kFragments; ++m)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        float d[4] = {0, 0, 0, 0};
        multiply_fragment(c, m, b, half, d);
#pragma unroll
        for (int e = 0; e < 4; ++e) {
          float& sum = sum_[2 * half + e % 2][2 * m + e / 2];
          sum = fmaf(d[e], weight[2 * m + e / 2], sum);
        }
      }
  }
  /// Adds rows lane / 4 and 8 further on of fragment m by columns 2 (lane % 4) and the next.
  __device__ static void multiply_fragment(const Fragments& c, int m, const uint4 (&b)[kParts],
                                           int half, float (&d)[4]) {
    const auto low = [&](int p) { return half == 0 ? b[p].x : b[p].z; };
    const auto high = [&](int p) { return half == 0 ? b[p].y : b[p].w; };
    if constexpr (kParts == 2) {
      multiply_add<kArithmetic>(d, c[1][m], low(0), high(0));
      multiply_add<kArithmetic>(d, c[0][m], low(1), high(1));
      multiply_add<kArithmetic>(d, c[0][m], low(0), high(0));
    } else {
      multiply_add<kArithmetic>(d, c[0][m], low(0), high(0));
    }
  }

  /// The rows of the kept modes, which one tile has one index of.
  __device__ void weigh(const ListedTile& tile, float (&kept)[kColumns]) const {
#pragma unroll
    for (float& weight : kept) weight = 1;
    for (int k = 0; k < x_.order - kTiledModes; ++k) {
      const float* const row = x_.factor[x_.mode_at[kTiledModes + k]].rows +
                               Count{tile.kept[k]} * tiles_.stride + column_;
      const auto columns = __ldg(reinterpret_cast<const Columns*>(row));
#pragma unroll
      for (int r = 0; r < kColumns; ++r) kept[r] *= reinterpret_cast<const float*>(&columns)[r];
    }
  }

  __device__ void clear_sums() {
#pragma unroll
    for (auto& row : sum_)
#pragma unroll
      for (float& sum : row) sum = 0;
  }
  /// A lane has columns 2 (lane % 4) and the next of both operands as rows of the output's tile.
  __device__ void add_sums() {
    if (at_ == kNoRow) return;
#pragma unroll
    for (unsigned e = 0; e < 4; ++e) {
      const Index i = (at_ << 4) + e / 2 * 8 + lane_ % 4 * 2 + e % 2;
      if (i < x_.slice_length) add_to_row(x_, i, column_, sum_[e]);
    }
    clear_sums();
  }

  const DeviceChain& x_;
  const TunedTiles& tiles_;
  const unsigned lane_, column_;  // the first of the lane's columns
  char* const cells_;             // the tile that is spread out, part after part
  Index at_ = kNoRow;             // the output's tile that the sums are of
  float sum_[4][kColumns];
};

/// Sparse nonzeros, which lie in the order of their output rows and, within, of all other modes but
/// the longest: a group of kLanes lanes, four columns each, adds up kGroupNonzeros of them. Along a
/// fiber the rows of the other modes are loaded once; a row is added to the result when it changes.
template <int kLanes, int kOthers>
class SparseWalk {
 public:
  __device__ SparseWalk(const DeviceChain& x, const TunedTiles& tiles)
      : x_(x),
        tiles_(tiles),
        lane_(threadIdx.x % kLanes),
        column_((blockIdx.y * kLanes + lane_) * 4) {}

  __device__ void run(Count first) {
    for (unsigned base = 0; base < kGroupNonzeros; base += kLanes) add(first + base);
    end_fiber();
    end_row();
  }

 private:
  static constexpr int kAcross = kOthers - 1;  // modes that a fiber has one index of

  /// Nonzeros whose factor rows are on their way.
  struct Batch {
    Index row[kInFlight];
    bool begins[kInFlight];  // a fiber
    Vec<float> along[kInFlight], across[kInFlight];
  };

  template <class T>
  __device__ static T from(T v, int lane) {
    return device::of_lane<kLanes>(v, lane);
  }
  __device__ Vec<float> row_of(int k, Index i) const {
    return Vec<float>::load(x_.factor[tiles_.other[k]].rows + Count{i} * tiles_.stride + column_);
  }

  /// kLanes nonzeros from `first` on, one read by each lane; those beyond the last count as zeros.
  __device__ void add(Count first) {
    const Count own = first + lane_;
    const Count safe = own < x_.nonzeros ? own : x_.nonzeros - 1;
    const std::uint32_t* const key = x_.nonzero_index + safe * x_.nonzero_words;
    const Index row = decode(key, x_.index[x_.mode]);
    Index index[kOthers];
#pragma unroll
    for (int k = 0; k < kOthers; ++k) index[k] = decode(key, x_.index[tiles_.other[k]]);
    const float value = own < x_.nonzeros ? load_value(x_.sparse_values, x_.values, safe) : 0;
#pragma unroll
    for (int lane = 0; lane < kLanes; lane += kInFlight) {
      Batch batch;
      load(lane, row, index, batch);
      add(lane, value, batch);
    }
  }

  /// The rows of the nonzeros that lanes `lane` and on have read.
  __device__ void load(int lane, Index row, const Index (&index)[kOthers], Batch& batch) {
#pragma unroll
    for (int p = 0; p < kInFlight; ++p) {
      batch.row[p] = from(row, lane + p);
      batch.begins[p] = batch.row[p] != row_;
      batch.along[p] = row_of(kAcross, from(index[kAcross], lane + p));
#pragma unroll
      for (int k = 0; k < kAcross; ++k) {
        const Index i = from(index[k], lane + p);
        batch.begins[p] |= i != fiber_[k];
        fiber_[k] = i;
      }
      row_ = batch.row[p];
      if (batch.begins[p]) batch.across[p] = row_of(0, fiber_[0]);
      if constexpr (kAcross > 1)
        if (batch.begins[p])
#pragma unroll
          for (int k = 1; k < kAcross; ++k) batch.across[p].multiply(row_of(k, fiber_[k]));
    }
  }

  __device__ void add(int lane, float value, const Batch& batch) {
#pragma unroll
    for (int p = 0; p < kInFlight; ++p) {
      if (batch.begins[p]) {
        end_fiber();
        across_ = batch.across[p];
        if (batch.row[p] != at_) {
          end_row();
          at_ = batch.row[p];
        }
      }
      fiber_sum_.fma(batch.along[p], Vec<float>::splat(from(value, lane + p)));
    }
  }

  __device__ void end_fiber() {
    sum_.fma(fiber_sum_, across_);
    fiber_sum_ = Vec<float>::splat(0);
  }
  __device__ void end_row() {
    if (at_ == kNoRow) return;
    const float sum[4] = {sum_.v.x, sum_.v.y, sum_.v.z, sum_.v.w};
    add_to_row(x_, at_, column_, sum);
    sum_ = Vec<float>::splat(0);
  }

  const DeviceChain& x_;
  const TunedTiles& tiles_;
  const unsigned lane_, column_;
  Index at_ = kNoRow;   // the row that sum_ is of
  Index row_ = kNoRow;  // of the nonzero loaded last, and its indices across the fiber
  Index fiber_[kAcross] = {};
  Vec<float> sum_ = Vec<float>::splat(0), fiber_sum_ = Vec<float>::splat(0);
  Vec<float> across_ = Vec<float>::splat(0);  // product of the rows that a fiber shares
};

/// Thread blocks (b, w) walk over tiles for columns 16 kFragments w and on.
template <Arithmetic kArithmetic, int kFragments, bool kKept>
__global__ void __launch_bounds__(32 * TunedBlock<kArithmetic>::kWarps,
                                  TunedBlock<kArithmetic>::kAtOnce)
    walk_tiles(const DeviceChain x, const TunedTiles tiles) {
  extern __shared__ __align__(128) char shared[];
  const Count warp = Count{blockIdx.x} * TunedBlock<kArithmetic>::kWarps + threadIdx.x / 32;
  const Count first = warp * tiles.tiles_per_warp, last = first + tiles.tiles_per_warp;
  if (first < x.tiles)
    TileWalk<kArithmetic, kFragments, kKept>(x, tiles, shared)
        .run(first, last < x.tiles ? last : x.tiles);
}

/// The sparse part, a kernel of its own: it leaves the shared memory to L1, where its rows are.
template <int kFragments, int kOthers>
__global__ void __launch_bounds__(kSparseThreads)
    add_sparse(const DeviceChain x, const TunedTiles tiles) {
  constexpr unsigned kLanes = 4 * kFragments;
  const Count warp = (Count{blockIdx.x} * kSparseThreads + threadIdx.x) / 32;
  const Count of_warp = warp * (32 / kLanes) * kGroupNonzeros;
  if (of_warp < x.nonzeros)
    SparseWalk<kLanes, kOthers>(x, tiles).run(of_warp + threadIdx.x % 32 / kLanes * kGroupNonzeros);
}

}  // namespace retensor::hlsto
