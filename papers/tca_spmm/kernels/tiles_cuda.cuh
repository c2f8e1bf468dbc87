// O = S D with S as tiles (format/tiles.hpp) that warps decompress into their registers and
// multiply as dense ones with Hopper's wgmma.
//
// A thread block takes a row of tiles, 64 or 128 columns of D, and a part of the row's tiles. Two
// warps bring the tiles and their 64 rows of D by the copy engine into a ring of stages in shared
// memory. Four warpgroups multiply, of which two take the rows of every other tile: a warp finds
// the 16 registers that each lane has of its strip of a tile, among them the zeros, while the
// product of the half before runs. The thread blocks that share outputs form a cluster. In the end
// each owns some columns; all write their sums of these to its shared memory, and it adds them up.
#pragma once

#include <cuda.h>

#include <utility>

#include "common/core/types.hpp"
#include "papers/tca_spmm/format/tiles.hpp"
#include "papers/tca_spmm/kernels/pipeline_cuda.cuh"
#include "papers/tca_spmm/kernels/ptx_cuda.cuh"
#include "papers/tca_spmm/kernels/warpgroup_cuda.cuh"

namespace retensor::tca_spmm {

inline constexpr unsigned kFragmentWidth = 8;  ///< n of a block of sums
inline constexpr unsigned kTurns = 2;          ///< groups of warps that take tiles in turn
inline constexpr unsigned kTurnThreads = kTileStrips * kWarpSize;
inline constexpr unsigned kMultiplyingWarps = kTurns * kTileStrips;
inline constexpr unsigned kTileThreads = (kMultiplyingWarps + 4) * kWarpSize;
/// Registers are dealt out to warpgroups: the launch gives each 96 a thread, the fifth leaves most.
inline constexpr int kBringingRegisters = 24, kMultiplyingRegisters = 112;
/// As many as shared memory holds of full tiles, and enough to hide the latency of the L2.
inline constexpr unsigned kFewestStages = 6, kMostStages = 12;
inline constexpr unsigned kMostParts = 8;      ///< thread blocks of a cluster, by CUDA's rules
inline constexpr unsigned kPanelColumns = 64;  ///< of D, rows of 128 bytes
inline constexpr unsigned kPanelBytes = kTileDepth * kPanelColumns * 2;

struct DeviceTiles {
  CUtensorMap dense;  ///< D, boxes of kTileDepth x kPanelColumns
  /// First tile of each part of each row of tiles, and in the end the number of tiles.
  const Count* part_start = nullptr;
  const Index *tile_column = nullptr, *word_start = nullptr;
  const uint4* words = nullptr;
  void* out = nullptr;
  Count out_stride = 0;
  bool half_output = false;
  unsigned rows = 0;        ///< M
  unsigned parts = 1;       ///< blocks that share outputs, a power of two
  unsigned stages = 0;      ///< of tiles and rows of D
  unsigned tile_bytes = 0;  ///< of a stage
};

/// Shared memory of a thread block: rows of D of all stages, tiles of all stages, their barriers.
template <int kColumns>
struct TileMemory {
  static constexpr unsigned kDense = kColumns / kPanelColumns * kPanelBytes;
  static constexpr unsigned kAlignment = 1024;
  static constexpr unsigned kBlocks = kColumns / kFragmentWidth;
  /// Of tiles of at most `tile_bytes`, a multiple of 16. In the end the stages hold the sums of all
  /// parts that the block owns.
  static constexpr unsigned bytes(unsigned stages, unsigned tile_bytes) {
    const unsigned ring = stages * (kDense + tile_bytes + 2 * sizeof(Barrier));
    constexpr unsigned kSums = kBlocks * kTurns * kTurnThreads * sizeof(float4);
    return (ring > kSums ? ring : kSums) + kAlignment;
  }
};

/// What a thread block multiplies, and where its memory begins. Nothing of it changes.
template <int kColumns>
struct TileBlock {
  static constexpr unsigned kBlocks = TileMemory<kColumns>::kBlocks;
  const DeviceTiles& p;
  char* memory;
  Barrier *full, *empty;  ///< of the stages
  Count first_tile;
  unsigned tiles;
  unsigned warp;  ///< by a shuffle, so that the compiler knows it to be the same in all lanes

  __device__ explicit TileBlock(const DeviceTiles& product)
      : p(product), warp(__shfl_sync(kWholeWarp, threadIdx.x / kWarpSize, 0)) {
    constexpr unsigned kAlignment = TileMemory<kColumns>::kAlignment;
    char* const unaligned = block_memory();
    memory = unaligned + (kAlignment - shared_place(unaligned) % kAlignment) % kAlignment;
    full = reinterpret_cast<Barrier*>(tile(p.stages)), empty = full + p.stages;
    first_tile = p.part_start[blockIdx.x];
    tiles = static_cast<unsigned>(p.part_start[blockIdx.x + 1] - first_tile);
  }
  __device__ unsigned turn() const { return warp / kTileStrips; }
  __device__ unsigned part() const { return blockIdx.x & (p.parts - 1); }
  /// Blocks of sums that each part stores.
  __device__ unsigned owned() const { return kBlocks / p.parts; }
  __device__ unsigned first_column() const { return blockIdx.y * kColumns; }

  __device__ char* dense(unsigned stage) const {
    return memory + stage * TileMemory<kColumns>::kDense;
  }
  __device__ char* tile(unsigned stage) const { return dense(p.stages) + stage * p.tile_bytes; }
  /// The lane's sums of the owner's block j that a turn of a part has, in the owner's memory, where
  /// `from` counts turns and parts.
  __device__ float4* shared_sums(unsigned from, unsigned j) const {
    return reinterpret_cast<float4*>(memory) + (from * owned() + j) * kTurnThreads +
           threadIdx.x % kTurnThreads;
  }
};

/// Calls f(stage, value) for each tile when its stage is empty, with load(tile)'s value. Each lane
/// has that of one of 32 tiles and of the next 32.
template <int kColumns, class Load, class F>
__device__ void bring(const TileBlock<kColumns>& b, const Load& load, const F& f) {
  const unsigned lane = threadIdx.x % kWarpSize;
  const auto loaded = [&](unsigned t) { return load(b.first_tile + min(t + lane, b.tiles - 1)); };
  if (b.tiles == 0) return;
  auto next = loaded(0), own = next;
  RingPlace at;
  for (unsigned t = 0; t < b.tiles; ++t, at.advance(b.p.stages)) {
    if (t % kWarpSize == 0) own = next, next = loaded(t + kWarpSize);
    const auto value = __shfl_sync(kWholeWarp, own, static_cast<int>(t % kWarpSize));
    if (lane == 0) {
      wait_for(b.empty + at.slot, at.parity ^ 1);
      f(at.slot, value);
    }
    __syncwarp();
  }
}

template <int kColumns>
__device__ void bring_tiles(const TileBlock<kColumns>& b) {
  const Index* const start = b.p.word_start;
  bring(
      b, [&](Count tile) { return Count{start[tile]} << 32 | (start[tile + 1] - start[tile]); },
      [&](unsigned stage, Count place) {
        const unsigned bytes = static_cast<unsigned>(place) * sizeof(uint4);
        arrive_for(b.full + stage, bytes);
        copy_bulk(b.tile(stage), b.p.words + (place >> 32), bytes, b.full + stage);
      });
}

template <int kColumns>
__device__ void bring_dense(const TileBlock<kColumns>& b) {
  bring(
      b, [&](Count tile) { return b.p.tile_column[tile]; },
      [&](unsigned stage, Index tile_column) {
        arrive_for(b.full + stage, TileMemory<kColumns>::kDense);
#pragma unroll
        for (unsigned c = 0; c < kColumns; c += kPanelColumns)
          copy_box(b.dense(stage) + c / kPanelColumns * kPanelBytes, b.p.dense,
                   tile_column * kTileDepth, b.first_column() + c, b.full + stage);
      });
}

/// A lane's registers of half a strip.
inline constexpr unsigned kHalfSteps = kTileSteps / 2;
using HalfStrip = std::uint32_t[kHalfSteps][kStepRegisters];
/// What a lane has of a strip: its header and where its next stored register is.
struct StripReader {
  std::uint32_t header;
  SharedPlace next;
};

/// Waits for the tile of a stage.
template <int kColumns>
__device__ StripReader open_strip(const TileBlock<kColumns>& b, RingPlace at) {
  wait_for(b.full + at.slot, at.parity);
  const char* const tile = b.tile(at.slot);
  const auto header = reinterpret_cast<const std::uint32_t*>(tile)[threadIdx.x % kTurnThreads];
  return {header, shared_place(tile) + (header >> 16) * static_cast<unsigned>(sizeof(header))};
}

/// The lane's registers of one half.
template <unsigned kHalf>
__device__ void decompress(StripReader& strip, HalfStrip& left) {
  [&]<unsigned... kR>(std::integer_sequence<unsigned, kR...>) {
    ((left[kR / kStepRegisters][kR % kStepRegisters] =
          take_stored<1u << (kHalf * sizeof...(kR) + kR)>(strip.header, strip.next)),
     ...);
  }
  (std::make_integer_sequence<unsigned, kLaneRegisters / 2>());
}

/// Begins the product of half a tile with its rows of D and waits for the one before.
template <unsigned kBlocks>
__device__ void begin_product(float (&sums)[kBlocks][4], const char* dense, const HalfStrip& left) {
  constexpr unsigned kStepBytes = kStepDepth * 2 * kPanelColumns;  // of a panel
  begin_products();
#pragma unroll
  for (unsigned k = 0; k < kHalfSteps; ++k)
    multiply_add_async(sums, left[k], swizzled_matrix(dense + k * kStepBytes, kPanelBytes, 1024));
  commit_products();
  wait_for_products<1>();
}

/// The warps that multiply: half a tile while they decompress the next half.
template <int kColumns>
__device__ void multiply(const TileBlock<kColumns>& b,
                         float (&sums)[TileBlock<kColumns>::kBlocks][4]) {
  if (b.turn() >= b.tiles) return;
  HalfStrip left[2];
  RingPlace at;
  if (b.turn() == 1) at.advance(b.p.stages);
  StripReader strip = open_strip(b, at);
  decompress<0>(strip, left[0]);
  for (unsigned t = b.turn(), before = kMostStages;;) {
    begin_product(sums, b.dense(at.slot), left[0]);
    // Each lane for its own reads.
    if (before != kMostStages) arrive(b.empty + before);
    decompress<1>(strip, left[1]);
    begin_product(sums, b.dense(at.slot) + kPanelBytes / 2, left[1]);
    before = at.slot;
    for (unsigned n = 0; n < kTurns; ++n) at.advance(b.p.stages);
    t += kTurns;
    if (t >= b.tiles) break;
    strip = open_strip(b, at);
    decompress<0>(strip, left[0]);
  }
  wait_for_products<0>();
}

/// Writes each block of sums to the part that owns it.
template <int kColumns>
__device__ void share_sums(const TileBlock<kColumns>& b,
                           const float (&sums)[TileBlock<kColumns>::kBlocks][4]) {
  const unsigned from = b.part() * kTurns + b.turn();
#pragma unroll
  for (unsigned n = 0; n < b.kBlocks; ++n)
    store_remote(b.shared_sums(from, n & (b.owned() - 1)), n * b.p.parts / b.kBlocks, sums[n]);
}

__device__ inline void store_pair(const DeviceTiles& p, Count at, float low, float high) {
  if (p.half_output)
    *reinterpret_cast<std::uint32_t*>(static_cast<std::uint16_t*>(p.out) + at) =
        to_half_pair(low, high);
  else
    *reinterpret_cast<float2*>(static_cast<float*>(p.out) + at) = make_float2(low, high);
}

/// Adds up and stores the blocks that the part owns; turns take them in turn.
template <int kColumns>
__device__ void store_owned(const TileBlock<kColumns>& b) {
  const unsigned lane = threadIdx.x % kWarpSize;
  for (unsigned j = b.turn(); j < b.owned(); j += kTurns) {
    float4 sum = *b.shared_sums(0, j);
    for (unsigned from = 1; from < kTurns * b.p.parts; ++from) {
      const float4 v = *b.shared_sums(from, j);
      sum.x += v.x, sum.y += v.y, sum.z += v.z, sum.w += v.w;
    }
    const Count row =
        Count{blockIdx.x / b.p.parts} * kTileRows + b.warp % kTileStrips * kStripRows + lane / 4;
    const Count column =
        b.first_column() + (b.part() * b.owned() + j) * kFragmentWidth + lane % 4 * 2;
    if (column >= b.p.out_stride) return;
    if (row < b.p.rows) store_pair(b.p, row * b.p.out_stride + column, sum.x, sum.y);
    if (row + 8 < b.p.rows) store_pair(b.p, (row + 8) * b.p.out_stride + column, sum.z, sum.w);
  }
}

template <int kColumns>
__global__ void __launch_bounds__(kTileThreads, 1)
    multiply_tiles(const __grid_constant__ DeviceTiles p) {
  const TileBlock<kColumns> b(p);
  if (threadIdx.x == 0) {
    for (unsigned s = 0; s < p.stages; ++s)
      make_barrier(b.full + s, 2), make_barrier(b.empty + s, kTurnThreads);
    show_barriers();
  }
  __syncthreads();
  if (b.warp < kMultiplyingWarps) {
    take_registers<kMultiplyingRegisters>();
    float sums[TileBlock<kColumns>::kBlocks][4] = {};
    multiply(b, sums);
    meet_cluster();  // all stages have been read
    share_sums(b, sums);
    meet_cluster();
    store_owned(b);
  } else {
    leave_registers<kBringingRegisters>();
    if (b.warp == kMultiplyingWarps) bring_tiles(b);
    if (b.warp == kMultiplyingWarps + 1) bring_dense(b);
    meet_cluster();
    meet_cluster();
  }
}

using TileKernel = void (*)(DeviceTiles);

/// The kernel for 64 or 128 columns of D; null in a build without sm_90a.
TileKernel tile_kernel(int columns);

}  // namespace retensor::tca_spmm
