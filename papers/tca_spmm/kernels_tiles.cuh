// O = S D with S as tiles (tiles.hpp) that warps decompress into their registers and multiply as
// dense ones with Hopper's wgmma.
//
// A thread block takes a row of tiles, 64 or 128 columns of D, and a part of the row's tiles. Its
// last warp brings tiles and their 64 rows of D by the copy engine into a ring of stages in shared
// memory. Four warpgroups of 64 rows multiply: a warp finds the 16 registers that each lane has of
// its strip of a tile, among them the zeros, while the product of the tile before runs. The thread
// blocks that share outputs form a cluster. In the end each owns some columns; all write their sums
// of these to its shared memory, and it adds them up.
#pragma once

#include <cuda.h>

#include <utility>

#include "common/core/types.hpp"
#include "papers/tca_spmm/pipeline.cuh"
#include "papers/tca_spmm/ptx.cuh"
#include "papers/tca_spmm/tiles.hpp"
#include "papers/tca_spmm/warpgroup.cuh"

namespace retensor::tca_spmm {

inline constexpr unsigned kFragmentWidth = 8;  ///< n of a block of sums
inline constexpr unsigned kMultiplyingThreads = kTileStrips * kWarpSize;
inline constexpr unsigned kTileThreads = kMultiplyingThreads + 4 * kWarpSize;
/// Registers are dealt out to warpgroups: the launch gives each 96 a thread, the fifth leaves most.
inline constexpr int kBringingRegisters = 24, kMultiplyingRegisters = 112;
/// The warps multiply one tile and decompress another, so that at least two are on their way.
inline constexpr unsigned kFewestStages = 4;
inline constexpr unsigned kMostStages = 8;     ///< more hide no more latency
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
    constexpr unsigned kSums = kBlocks * kMultiplyingThreads * sizeof(float4);
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
  struct Tile {
    Index column = 0, first = 0, vectors = 0;
  };

 public:
  __device__ explicit TileProduct(const DeviceTiles& p)
      : p_(p),
        warp_(threadIdx.x / kWarpSize),
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
        make_barrier(full_ + s, 1), make_barrier(empty_ + s, kTileStrips);
      show_barriers();
    }
    __syncthreads();
    if (warp_ < kTileStrips) {
      take_registers<kMultiplyingRegisters>();
      multiply();
      meet_cluster();  // all stages have been read
      share_sums();
      meet_cluster();
      store_owned();
    } else {
      leave_registers<kBringingRegisters>();
      if (warp_ == kTileStrips) bring();
      meet_cluster();
      meet_cluster();
    }
  }

 private:
  __device__ char* dense_at(unsigned stage) const { return memory_ + stage * Memory::kDense; }
  __device__ char* tile_at(unsigned stage) const {
    return memory_ + p_.stages * Memory::kDense + stage * p_.tile_bytes;
  }

  /// The warp that brings tiles. Each lane knows one of 32.
  __device__ void bring() {
    Tile next = load_tile(lane_), own;
    RingPlace at;
    for (unsigned t = 0; t < tiles_; ++t, at.advance(p_.stages)) {
      if (t % kWarpSize == 0) own = next, next = load_tile(t + kWarpSize + lane_);
      const auto from = [&](Index v) {
        return __shfl_sync(kWholeWarp, v, static_cast<int>(t % kWarpSize));
      };
      const Tile tile{from(own.column), from(own.first), from(own.vectors)};
      if (lane_ == 0) request(tile, at);
      __syncwarp();
    }
  }
  __device__ Tile load_tile(unsigned t) const {
    if (t >= tiles_) return {};
    const Index* const start = p_.word_start + first_tile_ + t;
    return {p_.tile_column[first_tile_ + t], start[0], start[1] - start[0]};
  }
  __device__ void request(const Tile& tile, RingPlace at) {
    constexpr unsigned kVectorBytes = sizeof(uint4);
    wait_for(empty_ + at.slot, at.parity ^ 1);
    Barrier* const full = full_ + at.slot;
    arrive_for(full, Memory::kDense + tile.vectors * kVectorBytes);
    copy_bulk(tile_at(at.slot), p_.words + tile.first, tile.vectors * kVectorBytes, full);
#pragma unroll
    for (unsigned c = 0; c < kColumns; c += kPanelColumns)
      copy_box(dense_at(at.slot) + c / kPanelColumns * kPanelBytes, p_.dense,
               tile.column * kTileDepth, first_column_ + c, full);
  }

  /// The warps that multiply: half a tile while they decompress the next half.
  __device__ void multiply() {
    if (tiles_ == 0) return;
    Left left[2];
    Strip strip;
    RingPlace at;
    open(at, strip);
    decompress<0>(strip, left[0]);
    for (unsigned t = 0; t < tiles_; ++t) {
      const unsigned before = at.slot == 0 ? p_.stages - 1 : at.slot - 1;
      begin_product(dense_at(at.slot), left[0]);
      if (t > 0 && lane_ == 0) arrive(empty_ + before);
      decompress<1>(strip, left[1]);
      begin_product(dense_at(at.slot) + kHalfSteps * kStepBytes, left[1]);
      at.advance(p_.stages);
      if (t + 1 == tiles_) break;
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
    strip.header = reinterpret_cast<const std::uint32_t*>(tile)[warp_ * kStripLanes + lane_];
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

  /// Sums that part `from` has of the owner's block j, in the owner's shared memory.
  __device__ float4* shared_sums(unsigned from, unsigned j) const {
    return reinterpret_cast<float4*>(memory_) + (from * owned_ + j) * kMultiplyingThreads +
           threadIdx.x;
  }
  /// Writes each block of sums to the part that owns it.
  __device__ void share_sums() const {
#pragma unroll
    for (unsigned b = 0; b < kBlocks; ++b)
      store_remote(shared_sums(part_, b & (owned_ - 1)), b * p_.parts / kBlocks, sums_[b]);
  }
  /// Adds up and stores the blocks that the part owns.
  __device__ void store_owned() const {
    for (unsigned j = 0; j < owned_; ++j) {
      float4 sum = *shared_sums(0, j);
      for (unsigned from = 1; from < p_.parts; ++from) {
        const float4 v = *shared_sums(from, j);
        sum.x += v.x, sum.y += v.y, sum.z += v.z, sum.w += v.w;
      }
      const Count row = Count{row_} * kTileRows + warp_ * kStripRows + lane_ / 4;
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
