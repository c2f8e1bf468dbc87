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

template <int kColumns>
class TileProduct {
  using Memory = TileMemory<kColumns>;
  static constexpr unsigned kBlocks = Memory::kBlocks;
  static constexpr unsigned kHalfSteps = kTileSteps / 2;
  static constexpr unsigned kStepBytes = kStepDepth * 2 * kPanelColumns;  ///< of a panel
  /// A lane's registers of half a strip.
  using Left = std::uint32_t[kHalfSteps][kStepRegisters];
  /// What a lane has of a strip: its header and where its next stored register is.
  struct Strip {
    std::uint32_t header;
    SharedPlace next;
  };

 public:
  __device__ explicit TileProduct(const DeviceTiles& p)
      : p_(p),
        // By a shuffle, so that the compiler knows it and the stage to be the same in all lanes.
        warp_(__shfl_sync(kWholeWarp, threadIdx.x / kWarpSize, 0)),
        lane_(threadIdx.x % kWarpSize),
        row_(blockIdx.x / p.parts),
        part_(blockIdx.x & (p.parts - 1)),
        owned_(kBlocks / p.parts),
        first_column_(blockIdx.y * kColumns) {
    char* const memory = block_memory();
    memory_ = memory +
              (Memory::kAlignment - shared_place(memory) % Memory::kAlignment) % Memory::kAlignment;
    full_ = reinterpret_cast<Barrier*>(tile_at(p.stages)), empty_ = full_ + p.stages;
    first_tile_ = p.part_start[blockIdx.x];
    tiles_ = static_cast<unsigned>(p.part_start[blockIdx.x + 1] - first_tile_);
  }

  __device__ void run() {
    if (threadIdx.x == 0) {
      for (unsigned s = 0; s < p_.stages; ++s)
        make_barrier(full_ + s, 2), make_barrier(empty_ + s, kTurnThreads);
      show_barriers();
    }
    __syncthreads();
    if (warp_ < kMultiplyingWarps) {
      take_registers<kMultiplyingRegisters>();
      multiply();
      meet_cluster();  // all stages have been read
      share_sums();
      meet_cluster();
      store_owned();
    } else {
      leave_registers<kBringingRegisters>();
      if (warp_ == kMultiplyingWarps) bring_tiles();
      if (warp_ == kMultiplyingWarps + 1) bring_dense();
      meet_cluster();
      meet_cluster();
    }
  }

 private:
  __device__ char* dense_at(unsigned stage) const { return memory_ + stage * Memory::kDense; }
  __device__ char* tile_at(unsigned stage) const {
    return memory_ + p_.stages * Memory::kDense + stage * p_.tile_bytes;
  }

  /// Calls f(stage, value) for each tile when its stage is empty, with load(tile)'s value. Each
  /// lane has that of one of 32 tiles and of the next 32.
  template <class Load, class F>
  __device__ void bring(const Load& load, const F& f) const {
    const auto loaded = [&](unsigned t) { return load(first_tile_ + min(t + lane_, tiles_ - 1)); };
    if (tiles_ == 0) return;
    auto next = loaded(0), own = next;
    RingPlace at;
    for (unsigned t = 0; t < tiles_; ++t, at.advance(p_.stages)) {
      if (t % kWarpSize == 0) own = next, next = loaded(t + kWarpSize);
      const auto value = __shfl_sync(kWholeWarp, own, static_cast<int>(t % kWarpSize));
      if (lane_ == 0) {
        wait_for(empty_ + at.slot, at.parity ^ 1);
        f(at.slot, value);
      }
      __syncwarp();
    }
  }
  __device__ void bring_tiles() const {
    bring(
        [&](Count tile) {
          return Count{p_.word_start[tile]} << 32 | (p_.word_start[tile + 1] - p_.word_start[tile]);
        },
        [&](unsigned stage, Count place) {
          const unsigned bytes = static_cast<unsigned>(place) * sizeof(uint4);
          arrive_for(full_ + stage, bytes);
          copy_bulk(tile_at(stage), p_.words + (place >> 32), bytes, full_ + stage);
        });
  }
  __device__ void bring_dense() const {
    bring([&](Count tile) { return p_.tile_column[tile]; },
          [&](unsigned stage, Index tile_column) {
            arrive_for(full_ + stage, Memory::kDense);
#pragma unroll
            for (unsigned c = 0; c < kColumns; c += kPanelColumns)
              copy_box(dense_at(stage) + c / kPanelColumns * kPanelBytes, p_.dense,
                       tile_column * kTileDepth, first_column_ + c, full_ + stage);
          });
  }

  /// The warps that multiply: half a tile while they decompress the next half.
  __device__ void multiply() {
    const unsigned turn = warp_ / kTileStrips;
    if (turn >= tiles_) return;
    Left left[2];
    Strip strip;
    RingPlace at;
    if (turn == 1) at.advance(p_.stages);
    open(at, strip);
    decompress<0>(strip, left[0]);
    for (unsigned t = turn, before = kMostStages;;) {
      begin_product(dense_at(at.slot), left[0]);
      // Each lane for its own reads.
      if (before != kMostStages) arrive(empty_ + before);
      decompress<1>(strip, left[1]);
      begin_product(dense_at(at.slot) + kHalfSteps * kStepBytes, left[1]);
      before = at.slot;
      for (unsigned n = 0; n < kTurns; ++n) at.advance(p_.stages);
      t += kTurns;
      if (t >= tiles_) break;
      open(at, strip);
      decompress<0>(strip, left[0]);
    }
    wait_for_products<0>();
  }
  /// Begins the product of half a tile and waits for the one before.
  __device__ void begin_product(const char* dense, const Left& left) {
    begin_products();
#pragma unroll
    for (unsigned k = 0; k < kHalfSteps; ++k)
      multiply_add_async(sums_, left[k],
                         swizzled_matrix(dense + k * kStepBytes, kPanelBytes, 1024));
    commit_products();
    wait_for_products<1>();
  }
  __device__ void open(RingPlace at, Strip& strip) const {
    wait_for(full_ + at.slot, at.parity);
    const char* const tile = tile_at(at.slot);
    strip.header = reinterpret_cast<const std::uint32_t*>(tile)[threadIdx.x % kTurnThreads];
    strip.next = shared_place(tile) + (strip.header >> 16) * sizeof(strip.header);
  }
  /// The lane's registers of one half.
  template <unsigned kHalf>
  __device__ static void decompress(Strip& strip, Left& left) {
    [&]<unsigned... kR>(std::integer_sequence<unsigned, kR...>) {
      ((left[kR / kStepRegisters][kR % kStepRegisters] =
            take_stored<1u << (kHalf * sizeof...(kR) + kR)>(strip.header, strip.next)),
       ...);
    }
    (std::make_integer_sequence<unsigned, kLaneRegisters / 2>());
  }

  /// Sums of the owner's block j that a turn of a part has, in the owner's shared memory, where
  /// `from` counts turns and parts.
  __device__ float4* shared_sums(unsigned from, unsigned j) const {
    return reinterpret_cast<float4*>(memory_) + (from * owned_ + j) * kTurnThreads +
           threadIdx.x % kTurnThreads;
  }
  /// Writes each block of sums to the part that owns it.
  __device__ void share_sums() const {
    const unsigned from = part_ * kTurns + warp_ / kTileStrips;
#pragma unroll
    for (unsigned b = 0; b < kBlocks; ++b)
      store_remote(shared_sums(from, b & (owned_ - 1)), b * p_.parts / kBlocks, sums_[b]);
  }
  /// Adds up and stores the blocks that the part owns; turns take them in turn.
  __device__ void store_owned() const {
    for (unsigned j = warp_ / kTileStrips; j < owned_; j += kTurns) {
      float4 sum = *shared_sums(0, j);
      for (unsigned from = 1; from < kTurns * p_.parts; ++from) {
        const float4 v = *shared_sums(from, j);
        sum.x += v.x, sum.y += v.y, sum.z += v.z, sum.w += v.w;
      }
      const Count row = Count{row_} * kTileRows + warp_ % kTileStrips * kStripRows + lane_ / 4;
      const Count column = first_column_ + (part_ * owned_ + j) * kFragmentWidth + lane_ % 4 * 2;
      if (column >= p_.out_stride) return;
      if (row < p_.rows) store_pair(row * p_.out_stride + column, sum.x, sum.y);
      if (row + 8 < p_.rows) store_pair((row + 8) * p_.out_stride + column, sum.z, sum.w);
    }
  }
  __device__ void store_pair(Count at, float low, float high) const {
    if (p_.half_output)
      *reinterpret_cast<std::uint32_t*>(static_cast<std::uint16_t*>(p_.out) + at) =
          to_half_pair(low, high);
    else
      *reinterpret_cast<float2*>(static_cast<float*>(p_.out) + at) = make_float2(low, high);
  }

  const DeviceTiles& p_;
  const unsigned warp_, lane_, row_, part_;
  const unsigned owned_;  ///< blocks of sums that each part stores
  const unsigned first_column_;
  Barrier *full_, *empty_;
  char* memory_;
  Count first_tile_;
  unsigned tiles_;
  float sums_[kBlocks][4] = {};
};

template <int kColumns>
__global__ void __launch_bounds__(kTileThreads, 1)
    multiply_tiles(const __grid_constant__ DeviceTiles p) {
  TileProduct<kColumns>(p).run();
}

using TileKernel = void (*)(DeviceTiles);

/// The kernel for 64 or 128 columns of D; null in a build without sm_90a.
TileKernel tile_kernel(int columns);

}  // namespace retensor::tca_spmm
