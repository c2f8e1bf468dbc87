// BLCO's MTTKRP: a thread block of one warp takes 32 nonzeros (a tile). Each lane decodes one;
// lanes with equal output row are grouped by a match, and the nonzeros are put into shared memory
// group by group. Then a lane is a column of the factors: the warp walks the 32 nonzeros, adds up
// in a register while the row stays, and sends one atomic row per group.
//
// Short output modes would meet in few rows: there a warp takes several tiles, adds them up in a
// table in shared memory, one row of 32 columns per output row, and adds that to one of several
// copies of the output, which a second kernel sums (`reduce`).
#pragma once

#include "common/baselines/blco/blco_cuda.hpp"
#include "common/device/loops.cuh"
#include "common/device/warp.cuh"
#include "common/run/cuda_run.cuh"

namespace retensor::blco {

inline constexpr int kTile = 32;        // nonzeros
inline constexpr int kShortTiles = 16;  // tiles a warp takes where it has a table

/// 32 or fewer nonzeros of one block.
struct Tile {
  Count begin;
  std::uint32_t block, count;
};

template <class T>
struct Device {
  const std::uint64_t* key = nullptr;
  const T* value = nullptr;
  const Tile* tile = nullptr;
  const Index* row_base = nullptr;
  const Index* other_base[kMaxOther] = {};
  int row_width = 0, row_shift = 0;
  int other_width[kMaxOther] = {}, other_shift[kMaxOther] = {};
  const T* factor[kMaxOther] = {};
  T* out = nullptr;
  Count tiles = 0;
  unsigned rank = 0, stride = 0;
  int others = 0;
};

__device__ inline Index field(std::uint64_t key, int width, int shift) {
  return width == 0 ? 0 : static_cast<Index>(key >> shift & ((std::uint64_t{1} << width) - 1));
}

/// A tile in shared memory, equal output rows side by side.
template <class T, int kModes>
struct Grouped {
  Index row[kTile], other[kModes][kTile];
  T value[kTile];
  unsigned last;  // bit i: nonzero i is the last of its group

  __device__ void load(const Device<T>& x, int others, const Tile& tile, unsigned lane) {
    const bool mine = lane < tile.count;
    const Count p = tile.begin + (mine ? lane : 0);
    const std::uint64_t key = x.key[p];
    const Index r = field(key, x.row_width, x.row_shift) + x.row_base[tile.block];
    // Lanes past the end form a group of their own, behind the others.
    const std::uint64_t group = mine ? r : ~std::uint64_t{0};
    const unsigned peers = __match_any_sync(device::kWholeWarp, group);
    const unsigned below = (1u << lane) - 1;
    const bool leads = (peers & below) == 0;
    // Nonzeros of the groups that lead up to here.
    const unsigned before = device::sum_up_to_lane<unsigned>(leads ? __popc(peers) : 0, lane);
    const unsigned leader = __ffs(static_cast<int>(peers)) - 1;
    const unsigned to =
        __shfl_sync(device::kWholeWarp, before, leader) - __popc(peers) + __popc(peers & below);
    const bool ends = (peers & ~below) == 1u << lane;
    __syncwarp();
    if (mine) {
      row[to] = r;
      value[to] = x.value[p];
#pragma unroll
      for (int k = 0; k < kModes; ++k)
        if (k < others)
          other[k][to] =
              field(key, x.other_width[k], x.other_shift[k]) + x.other_base[k][tile.block];
    }
    const unsigned mark = __reduce_or_sync(device::kWholeWarp, mine && ends ? 1u << to : 0u);
    if (lane == 0) last = mark;
    __syncwarp();
  }

  /// add(row, sum) for each group of the tile, in one column.
  template <class F>
  __device__ void walk(const Device<T>& x, int others, unsigned count, unsigned column,
                       F&& add) const {
    T sum = 0;
    for (unsigned i = 0; i < count; ++i) {
      T product = value[i];
#pragma unroll
      for (int k = 0; k < kModes; ++k)
        if (k < others)
          product *= __ldg(x.factor[k] + static_cast<Count>(other[k][i]) * x.stride + column);
      sum += product;
      if ((last >> i & 1) != 0) {
        add(row[i], sum);
        sum = 0;
      }
    }
  }
};

/// kOthers gathered modes are unrolled; 0 reads their number at run time.
template <class T, int kOthers>
__global__ void __launch_bounds__(32) mttkrp(Device<T> x) {
  constexpr int kModes = kOthers > 0 ? kOthers : kMaxOther;
  const int others = kOthers > 0 ? kOthers : x.others;
  __shared__ Grouped<T, kModes> tile;
  const Tile at = x.tile[blockIdx.x];
  tile.load(x, others, at, threadIdx.x);
  for (unsigned column = threadIdx.x; column < x.rank; column += 32)
    tile.walk(x, others, at.count, column, [&](Index row, T sum) {
      atomicAdd(x.out + static_cast<Count>(row) * x.stride + column, sum);
    });
}

static_assert(kShortMode * 32 * sizeof(double) + sizeof(Grouped<double, kMaxOther>) <=
              device::kSharedUnasked);

/// For an output of at most kShortMode rows; blockIdx.y picks 32 columns.
template <class T, int kOthers>
__global__ void __launch_bounds__(32) mttkrp_short(Device<T> x, unsigned rows, unsigned copies) {
  constexpr int kModes = kOthers > 0 ? kOthers : kMaxOther;
  const int others = kOthers > 0 ? kOthers : x.others;
  __shared__ Grouped<T, kModes> tile;
  extern __shared__ unsigned char raw[];
  T* const table = reinterpret_cast<T*>(raw);  // rows x 32
  const unsigned lane = threadIdx.x, column = blockIdx.y * 32 + lane;
  for (unsigned r = 0; r < rows; ++r) table[r * 32 + lane] = T(0);
  const Count first = static_cast<Count>(blockIdx.x) * kShortTiles;
  for (Count t = first; t < first + kShortTiles && t < x.tiles; ++t) {
    const Tile at = x.tile[t];
    tile.load(x, others, at, lane);
    if (column < x.rank)
      tile.walk(x, others, at.count, column,
                [&](Index row, T sum) { table[row * 32 + lane] += sum; });
    __syncwarp();
  }
  if (column >= x.rank) return;
  T* const copy = x.out + static_cast<Count>(blockIdx.x % copies) * rows * x.stride;
  for (unsigned r = 0; r < rows; ++r)
    if (table[r * 32 + lane] != T(0)) atomicAdd(copy + r * x.stride + column, table[r * 32 + lane]);
}

/// out = sum of the copies, element by element.
template <class T>
__global__ void reduce(const T* copy, T* out, Count elements, unsigned copies) {
  const Count i = device::thread_of_grid();
  if (i >= elements) return;
  T sum = 0;
  for (unsigned c = 0; c < copies; ++c) sum += copy[c * elements + i];
  out[i] = sum;
}

}  // namespace retensor::blco
