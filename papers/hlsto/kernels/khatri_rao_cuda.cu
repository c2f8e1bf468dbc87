// hlsto.cuda.khatri_rao: MTTKRP of dense tiles of order 3 where the tensor core's operand is the
// Khatri-Rao product.
//
// The tuned kernel (tuned_cuda.cuh) multiplies what the tensor core made of slice j, C^T X(:, j,
// :)^T, by the row B(j, :) and adds it up, 16 multiply-adds a lane and slice. Here a lane
// multiplies its fragment of C^T by B(j, :) before, 8 multiplications of two halves:
//   A(i, :)^T += (C^T diag(B(j, :))) X(:, j, :)^T,
// so that the tensor core adds up over slices and tiles alike. Registers keep the 16 rows of B from
// tile to tile as long as these stay the same. The layouts of tiles and factors are those of the
// tuned kernel, and so is the walk over the sparse nonzeros, which runs beside the dense tiles
// where it is short.
#include <cuda_fp16.h>

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "common/device/device.hpp"
#include "common/device/overlap.cuh"
#include "papers/hlsto/kernels/hlsto_cuda.hpp"
#include "papers/hlsto/kernels/run_cuda.cuh"
#include "papers/hlsto/kernels/tuned_cuda.cuh"

namespace retensor::hlsto {

inline constexpr int kProductFragments = 2;  ///< 32 columns at a time
/// Warps of a thread block, and blocks of a multiprocessor that registers shall allow for.
inline constexpr unsigned kProductWarps = 4, kProductBlocks = 4;
inline constexpr unsigned kProductCells = kTileCells + 8;  ///< the last for what pads a list
inline constexpr unsigned kProductBytes = kProductWarps * kProductCells * sizeof(std::uint16_t);

/// One warp's walk over tiles in the order of their output rows.
class ProductWalk {
  using RowWeights = Weights<Arithmetic::fp16, kProductFragments>;
  static constexpr int kSlices = RowWeights::kSlices, kSteps = 16 / kSlices;

  /// What a lane has loaded of a tile's list.
  struct Ahead {
    uint4 places[kVectorsAhead], values[kVectorsAhead];
  };
  /// A fragment of 16 columns by 16 rows of a factor: columns lane / 4 and 8 further on in turn.
  using Fragment = __half2[4];
  using Fragments = Fragment[kProductFragments];

 public:
  __device__ ProductWalk(const DeviceChain& x, const TunedTiles& tiles, std::uint16_t* shared)
      : x_(x),
        tiles_(tiles),
        cells_(reinterpret_cast<char*>(shared + threadIdx.x / 32 * kProductCells)) {
    for (unsigned v = lane_; v < kProductCells * sizeof(std::uint16_t) / sizeof(uint4); v += 32)
      reinterpret_cast<uint4*>(cells_)[v] = make_uint4(0, 0, 0, 0);
    __syncwarp();
  }

  __device__ void run(Count first, Count last) {
    ListedTile next = tile(first);
    Ahead ahead = load(next);
    at_ = next.slice;
    device::wait_for_kernel_before();  // the factors
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
    a.places[q] = __ldg(tiles_.places + vector), a.values[q] = __ldg(tiles_.values[0] + vector);
  }

  /// Calls f(places, values) for the vectors of the tile's list.
  template <class F>
  __device__ void for_each_vector(const ListedTile& tile, const Ahead& loaded, const F& f) const {
#pragma unroll
    for (unsigned q = 0; q < kVectorsAhead; ++q)
      if (32 * q + lane_ < tile.vectors) f(loaded.places[q], loaded.values[q]);
    for (unsigned v = 32 * kVectorsAhead + lane_; v < tile.vectors; v += 32) {
      Ahead more;
      load(Count{tile.first} + v, 0, more);
      f(more.places[0], more.values[0]);
    }
  }
  __device__ void put(const uint4& places, const uint4& values) {
    const std::uint32_t to[4] = {places.x, places.y, places.z, places.w};
    const std::uint32_t two[4] = {values.x, values.y, values.z, values.w};
    const auto cell = [&](std::uint32_t place) -> std::uint16_t& {
      return *reinterpret_cast<std::uint16_t*>(cells_ + place);
    };
#pragma unroll
    for (int w = 0; w < 4; ++w) {
      cell(to[w] & 0xffffu) = static_cast<std::uint16_t>(two[w]);
      cell(to[w] >> 16) = static_cast<std::uint16_t>(two[w] >> 16);
    }
  }

  /// Puts the tile's values at their places, multiplies, and puts zeros there again.
  __device__ void add(const ListedTile& tile, const Ahead& loaded) {
    Fragments c;
    const Count block = Count{tile.column} * tiles_.column_blocks + blockIdx.y * kProductFragments;
#pragma unroll
    for (unsigned m = 0; m < kProductFragments; ++m)
      reinterpret_cast<uint4&>(c[m]) = __ldg(tiles_.fragments[0] + (block + m) * 32 + lane_);
    hold(tile.row);
    for_each_vector(tile, loaded,
                    [&](const uint4& places, const uint4& values) { put(places, values); });
    __syncwarp();
#pragma unroll
    for (int j = 0; j < 16; ++j) multiply_slice(j, c);
    __syncwarp();
    for_each_vector(tile, loaded, [&](const uint4& places, const uint4&) {
      put(places, make_uint4(0, 0, 0, 0));
    });
    __syncwarp();
  }

  /// The weights of a tile's rows.
  __device__ void hold(Index row) {
    if (row == held_row_) return;
    held_row_ = row;
    const uint4* const from =
        tiles_.weights + (Count{row} * gridDim.y + blockIdx.y) * kSteps * 8 + lane_ / 4;
#pragma unroll
    for (int step = 0; step < kSteps; ++step)
      reinterpret_cast<uint4&>(held_[2 * kSlices * step]) = __ldg(from + step * 8);
  }

  __device__ void multiply_slice(int j, const Fragments& c) {
    const uint4 slice = reinterpret_cast<const uint4*>(cells_)[j * 32 + lane_];
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
  char* const cells_;                                 // the tile that is spread out
  Index at_ = 0, held_row_ = kNoRow;                  // the tiles that the sums, the weights are of
  alignas(16) __half2 held_[16 * kProductFragments];  // by slice and fragment: of two columns
  float sum_[kProductFragments][2][4] = {};
};

/// The factors as the walk takes them; lists and zeros are no matter of theirs, so that the walk
/// begins beside it.
__global__ void __launch_bounds__(kLayoutThreads) lay_out_for_walks(const FactorLayout x) {
  device::let_next_begin();
  device::for_each_of_grid(x.fragment_vectors + x.weight_vectors, [&](Count i) {
    if (i < x.fragment_vectors)
      lay_out_fragment<Arithmetic::fp16, kProductFragments>(x, i);
    else
      lay_out_weights<Arithmetic::fp16, kProductFragments>(x, i - x.fragment_vectors);
  });
}

/// Thread blocks (b, w) walk over tiles for columns 32 w and on.
__global__ void __launch_bounds__(32 * kProductWarps, kProductBlocks)
    walk_products(const DeviceChain x, const TunedTiles tiles) {
  extern __shared__ __align__(128) std::uint16_t spread[];
  device::let_next_begin();
  const Count warp = Count{blockIdx.x} * kProductWarps + threadIdx.x / 32;
  const Count first = warp * tiles.tiles_per_warp, last = first + tiles.tiles_per_warp;
  if (first < x.tiles) ProductWalk(x, tiles, spread).run(first, last < x.tiles ? last : x.tiles);
}

/// A short sparse part beside the dense tiles: both add to the result, so that their order is free.
__global__ void __launch_bounds__(kSparseThreads)
    add_sparse_beside(const DeviceChain x, const TunedTiles tiles) {
  constexpr unsigned kLanes = 4 * kProductFragments;
  const Count group = (Count{blockIdx.x} * kSparseThreads + threadIdx.x) / kLanes;
  if (group / (32 / kLanes) * (32 / kLanes) * kGroupNonzeros < x.nonzeros)
    SparseWalk<kLanes, 2>(x, tiles).run(group * kGroupNonzeros);
  device::wait_for_kernel_before();
}

namespace {

constexpr unsigned kWalkColumns = kProductFragments * kFragmentColumns;

class ProductRun : public HlsRun {
 public:
  ProductRun(const Problem& problem, PreparedHls hls)
      : HlsRun(problem, std::move(hls), Arithmetic::fp16,
               "HLSTO, the Khatri-Rao product as operand", kWalkColumns),
        lists_(list_cells(tensor_, x_, Arithmetic::fp16)) {
    tiles_.tiles = lists_.tiles.data();
    tiles_.places = reinterpret_cast<const uint4*>(lists_.places.data());
    if (x_.tiles > 0)
      tiles_.values[0] = reinterpret_cast<const uint4*>(lists_.values.front().data());
    tiles_.stride = static_cast<unsigned>(rounded_up(chain_.width, kWalkColumns));
    tiles_.column_blocks = layout_.column_blocks = tiles_.stride / kFragmentColumns;
    tiles_.others = 2;
    tiles_.other[0] = x_.mode_at[x_.row], tiles_.other[1] = x_.mode_at[x_.column];
    layout_.fragment_vectors = tiles_of(x_.column) * tiles_.column_blocks * 32;
    layout_.weight_vectors =
        tiles_of(x_.row) * kFragmentEdge * tiles_.stride * sizeof(std::uint16_t) / sizeof(uint4);
    fragments_ = Buffer<uint4>(layout_.fragment_vectors);
    weights_ = Buffer<uint4>(layout_.weight_vectors);
    tiles_.fragments[0] = layout_.fragments[0] = fragments_.data();
    tiles_.weights = layout_.weights = weights_.data();
    share_tiles();
    count_bytes(lists_.tiles, lists_.places, fragments_, weights_);
    for (const auto& values : lists_.values) count_bytes(values);
  }

 private:
  Count tiles_of(int place) const {
    return rounded_up(factor(place).count, kFragmentEdge) / kFragmentEdge;
  }
  FactorRows factor(int place) const {
    const int mode = x_.mode_at[place];
    return {x_.factor[mode].rows, chain_.factor[at(mode)].rows, tiles_.stride};
  }

  /// Equally many for every warp that the device holds at a time.
  void share_tiles() {
    RETENSOR_CUDA_CHECK(cudaFuncSetAttribute(
        walk_products, cudaFuncAttributeMaxDynamicSharedMemorySize, kProductBytes));
    int at_once = 0;
    RETENSOR_CUDA_CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(
        &at_once, walk_products, 32 * kProductWarps, kProductBytes));
    sms_ = static_cast<unsigned>(device::facts().sms);
    const Count walks = Count{static_cast<unsigned>(at_once) * sms_} * kProductWarps;
    tiles_.tiles_per_warp =
        static_cast<unsigned>(std::max<Count>(1, (x_.tiles + walks - 1) / walks));
  }

  void launch(cudaStream_t stream) override {
    const unsigned columns = tiles_.column_blocks / kProductFragments;
    if (x_.tiles > 0) walk(columns, stream);
    constexpr Count kOfBlock = kSparseThreads / (4 * kProductFragments) * kGroupNonzeros;
    const dim3 sparse(device::blocks_for(x_.nonzeros, kOfBlock), columns);
    if (x_.nonzeros == 0) return;
    // A long part takes longer beside the tiles than after them.
    if (x_.tiles > 0 && sparse.x <= sms_)
      device::launch_beside(add_sparse_beside, sparse, kSparseThreads, 0, stream, x_, tiles_);
    else
      RETENSOR_CUDA_LAUNCH((add_sparse<kProductFragments, 2>), sparse, kSparseThreads, 0, stream,
                           x_, tiles_);
  }

  /// The factors may have changed since the last run, so that each lays them out.
  void walk(unsigned columns, cudaStream_t stream) {
    layout_.columns = factor(x_.column), layout_.rows = factor(x_.row);
    constexpr Count kMostBlocks = 1024;
    const unsigned blocks = device::blocks_for(layout_.fragment_vectors + layout_.weight_vectors,
                                               kLayoutThreads, kMostBlocks);
    RETENSOR_CUDA_LAUNCH(lay_out_for_walks, blocks, kLayoutThreads, 0, stream, layout_);
    const dim3 grid(device::blocks_for(x_.tiles, kProductWarps * tiles_.tiles_per_warp), columns);
    device::launch_beside(walk_products, grid, 32 * kProductWarps, kProductBytes, stream, x_,
                          tiles_);
  }

  const CellLists lists_;
  Buffer<uint4> fragments_, weights_;  // of the columns' and the rows' factor
  FactorLayout layout_;
  TunedTiles tiles_;
  unsigned sms_ = 0;
};

}  // namespace

std::unique_ptr<Prepared> prepare_khatri_rao_cuda(const Problem& problem, const Params& params) {
  // Sparse nonzeros along fibers of the mode that is gathered last.
  const std::array<int, 2> order{problem.mode(), problem.mode() == 0 ? 1 : 0};
  auto hls = prepare_hls(problem.x(), format_options(problem, params), params,
                         [&](DeviceHls& tensor) { sort_sparse(tensor, order); });
  return std::make_unique<ProductRun>(problem, std::move(hls));
}

}  // namespace retensor::hlsto
