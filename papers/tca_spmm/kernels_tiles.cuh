// O = S D with S as tiles (tiles.hpp) that are decompressed in shared memory and multiplied as
// dense ones.
//
// A thread block, eight warps, takes a row of tiles, 64 or 128 columns of D, and a part of the
// row's tiles. Of a tile each warp clears its strip and stores the strip's nonzeros at their
// places; the 64 rows of D stand beside it. Rows of D and nonzeros of the tile after the next are
// on their way (cp.async, four stages) while one is decompressed and another multiplied: by
// mma.sync, a warp its strip, or on Hopper by wgmma, four warps their strips, which runs beside the
// decompression of the next. Where several blocks share outputs, each leaves its sums in memory and
// the one that comes last adds them up.
#pragma once

#include <type_traits>

#include "common/core/types.hpp"
#include "papers/tca_spmm/ptx.cuh"
#include "papers/tca_spmm/tiles.hpp"
#include "papers/tca_spmm/warpgroup.cuh"

namespace retensor::tca_spmm {

/// Which instructions multiply: those of a warp, or of a warpgroup of Hopper.
enum class Core { warp, warpgroup };

inline constexpr unsigned kFragmentWidth = 8;  ///< n of the MMA, of a warpgroup's blocks of sums
inline constexpr unsigned kTileThreads = kTileStrips * kWarpSize;
inline constexpr unsigned kStages = 4;
inline constexpr unsigned kStripBytes = kStripRows * kTileDepth * 2;
inline constexpr unsigned kPanelColumns = 64;  ///< of D, rows of 128 bytes
inline constexpr unsigned kPanelBytes = kTileDepth * kPanelColumns * 2;
/// Vectors of entries of a strip that come ahead; more than half of its cells are beyond them.
inline constexpr unsigned kVectorsAhead = 128;

struct DeviceTiles {
  const Count* tile_start = nullptr;
  const Index *tile_column = nullptr, *entry_start = nullptr;
  const uint4* entries = nullptr;
  const std::uint16_t* dense = nullptr;
  Count dense_stride = 0;
  unsigned dense_rows = 0;  ///< K
  void* out = nullptr;
  Count out_stride = 0;
  bool half_output = false;
  unsigned rows = 0;            ///< M
  unsigned parts = 1;           ///< blocks that share outputs
  float* sums = nullptr;        ///< of each block, in the order of its threads' registers
  unsigned* arrived = nullptr;  ///< of each row of tiles and columns, zero before and after
};

/// Shared memory of a thread block, a multiple of 1024 bytes each.
template <int kColumns>
struct TileMemory {
  static constexpr unsigned kTile = kTileStrips * kStripBytes;
  static constexpr unsigned kDense = kColumns / kPanelColumns * kPanelBytes;
  static constexpr unsigned kEntries = kTileStrips * kVectorsAhead * sizeof(uint4);
  static constexpr unsigned kStage = kTile + kDense + kEntries;
  static constexpr unsigned kAlignment = 1024;
  static constexpr unsigned kBytes = kStages * kStage + kAlignment;
};

template <Core kCore, int kColumns>
class TileProduct {
  using Memory = TileMemory<kColumns>;
  static constexpr unsigned kBlocks = kColumns / kFragmentWidth;
  /// A tile as a warp knows it.
  struct Tile {
    Index column = 0, first = 0, vectors = 0;
  };

 public:
  __device__ explicit TileProduct(const DeviceTiles& p)
      : p_(p),
        warp_(threadIdx.x / kWarpSize),
        lane_(threadIdx.x % kWarpSize),
        row_(blockIdx.x / p.parts),
        part_(blockIdx.x % p.parts),
        first_column_(blockIdx.y * kColumns) {
    char* const memory = block_memory();
    const auto address = static_cast<unsigned>(__cvta_generic_to_shared(memory));
    memory_ = memory + (Memory::kAlignment - address % Memory::kAlignment) % Memory::kAlignment;
    const Count begin = p.tile_start[row_], all = p.tile_start[row_ + 1] - begin;
    first_tile_ = begin + all * part_ / p.parts;
    tiles_ = static_cast<unsigned>(begin + all * (part_ + 1) / p.parts - first_tile_);
  }

  __device__ void run() {
    Tile now = load_tile(0), next = load_tile(1);
    request(0, now);
    request(1, next);
    Tile ahead = load_tile(2);
    for (unsigned t = 0; t < tiles_; ++t) {
      wait_for_copies<1>();
      __syncwarp();
      decompress(t, now);
      show();
      __syncthreads();
      multiply(t);
      request(t + 2, ahead);
      now = next, next = ahead, ahead = load_tile(t + 3);
    }
    finish();
    if (p_.parts == 1 || add_parts()) store();
  }

 private:
  __device__ char* stage(unsigned t) const { return memory_ + t % kStages * Memory::kStage; }
  __device__ char* dense_at(unsigned t) const { return stage(t) + Memory::kTile; }
  __device__ uint4* entries_at(unsigned t) const {
    return reinterpret_cast<uint4*>(stage(t) + Memory::kTile + Memory::kDense) +
           warp_ * kVectorsAhead;
  }

  __device__ Tile load_tile(unsigned t) const {
    if (t >= tiles_) return {};
    const Count tile = first_tile_ + t;
    const Index* const start = p_.entry_start + tile * kTileStrips + warp_;
    return {p_.tile_column[tile], start[0], start[1] - start[0]};
  }

  /// Begins the copies of a tile's rows of D and of the warp's entries; one group in any case.
  __device__ void request(unsigned t, const Tile& tile) {
    if (t < tiles_) {
      request_dense(t, tile);
      uint4* const to = entries_at(t);
      for (unsigned v = lane_; v < min(tile.vectors, kVectorsAhead); v += kWarpSize)
        copy_async(to + v, p_.entries + tile.first + v);
    }
    commit_copies();
  }
  __device__ void request_dense(unsigned t, const Tile& tile) {
    constexpr unsigned kRowVectors = kColumns / 8;
    char* const to = dense_at(t);
#pragma unroll
    for (unsigned q = 0; q < kTileDepth * kRowVectors / kTileThreads; ++q) {
      const unsigned place = q * kTileThreads + threadIdx.x;
      const unsigned k = place / kRowVectors, v = place % kRowVectors;
      const Count row = Count{tile.column} * kTileDepth + k, column = first_column_ + 8 * v;
      const bool inside = row < p_.dense_rows && column < p_.dense_stride;
      copy_async(to + place_in_dense(k, v),
                 p_.dense + (inside ? row * p_.dense_stride + column : 0), inside ? 16 : 0);
    }
  }
  /// Byte of the vector of row k and columns 8 v to 8 v + 7 of D in a stage.
  __device__ static unsigned place_in_dense(unsigned k, unsigned v) {
    return v / 8 * kPanelBytes + k * 2 * kPanelColumns + (v % 8 ^ k % 8) * 16;
  }

  __device__ void decompress(unsigned t, const Tile& tile) {
    char* const strip = stage(t) + warp_ * kStripBytes;
#pragma unroll
    for (unsigned v = 0; v < kStripBytes / sizeof(uint4) / kWarpSize; ++v)
      reinterpret_cast<uint4*>(strip)[v * kWarpSize + lane_] = make_uint4(0, 0, 0, 0);
    __syncwarp();
    const uint4* const entries = entries_at(t);
    for (unsigned v = lane_; v < tile.vectors; v += kWarpSize) {
      const uint4 four = v < kVectorsAhead ? entries[v] : __ldg(p_.entries + tile.first + v);
      put(strip, four.x), put(strip, four.y), put(strip, four.z), put(strip, four.w);
    }
  }
  __device__ static void put(char* strip, std::uint32_t entry) {
    *reinterpret_cast<std::uint16_t*>(strip + (entry & 0xffff)) =
        static_cast<std::uint16_t>(entry >> 16);
  }

  __device__ static void show() {
    if constexpr (kCore == Core::warpgroup) show_to_tensor_core();
  }
  __device__ static void finish() {
    if constexpr (kCore == Core::warpgroup) wait_for_products<0>();
  }

  /// Of a warpgroup the product of the tile before is done when this returns, so that its stage may
  /// be written after the next barrier.
  __device__ void multiply(unsigned t) {
    if constexpr (kCore == Core::warpgroup) {
      const char* const rows = stage(t) + warp_ / 4 * 4 * kStripBytes;
      begin_products();
#pragma unroll
      for (unsigned k = 0; k < kTileDepth; k += 16)
        multiply_add_async(sums_, swizzled_matrix(rows + 2 * k, 16, 1024),
                           swizzled_matrix(dense_at(t) + k * 2 * kPanelColumns, kPanelBytes, 1024));
      commit_products();
      wait_for_products<1>();
    } else {
#pragma unroll
      for (unsigned k = 0; k < kTileDepth; k += 16) multiply_strip(t, k);
    }
  }
  __device__ void multiply_strip(unsigned t, unsigned k) {
    Left<16> left;
    load_blocks(left.pair,
                stage(t) + warp_ * kStripBytes + place_in_strip(lane_ % 16, k + lane_ / 16 * 8));
#pragma unroll
    for (unsigned pair = 0; pair < kBlocks / 2; ++pair) {
      std::uint32_t b[4];
      load_blocks_transposed(b, dense_at(t) + place_in_dense(k + lane_ / 8 % 2 * 8 + lane_ % 8,
                                                             2 * pair + lane_ / 16));
      multiply_add(sums_[2 * pair], left, Right<16>{{b[0], b[1]}});
      multiply_add(sums_[2 * pair + 1], left, Right<16>{{b[2], b[3]}});
    }
  }

  /// Leaves the sums and, in the last of the blocks that share them, adds up those of the others.
  __device__ bool add_parts() {
    constexpr Count kOfBlock = Count{kTileThreads} * kBlocks * 4;
    const Count shared = Count{blockIdx.y} * (gridDim.x / p_.parts) + row_;
    float* const all = p_.sums + shared * p_.parts * kOfBlock + threadIdx.x * 4;
    float* const own = all + part_ * kOfBlock;
#pragma unroll
    for (unsigned b = 0; b < kBlocks; ++b)
      *reinterpret_cast<float4*>(own + b * 4 * kTileThreads) =
          make_float4(sums_[b][0], sums_[b][1], sums_[b][2], sums_[b][3]);
    __threadfence();
    __syncthreads();
    auto* const last = reinterpret_cast<unsigned*>(memory_);
    if (threadIdx.x == 0) *last = atomicAdd(p_.arrived + shared, 1u) + 1 == p_.parts ? 1 : 0;
    __syncthreads();
    if (*last == 0) return false;
    __threadfence();
    if (threadIdx.x == 0) p_.arrived[shared] = 0;
    for (unsigned q = 0; q < p_.parts; ++q) {
      if (q == part_) continue;
#pragma unroll
      for (unsigned b = 0; b < kBlocks; ++b) {
        const float4 v =
            __ldcg(reinterpret_cast<const float4*>(all + q * kOfBlock + b * 4 * kTileThreads));
        sums_[b][0] += v.x, sums_[b][1] += v.y, sums_[b][2] += v.z, sums_[b][3] += v.w;
      }
    }
    return true;
  }

  __device__ void store() const {
#pragma unroll
    for (unsigned half = 0; half < 2; ++half) {
      const Count row = Count{row_} * kTileRows + warp_ * kStripRows + half * 8 + lane_ / 4;
      if (row >= p_.rows) continue;
#pragma unroll
      for (unsigned b = 0; b < kBlocks; ++b) {
        const Count column = first_column_ + b * kFragmentWidth + lane_ % 4 * 2;
        if (column < p_.out_stride)
          store_pair(row * p_.out_stride + column, sums_[b][2 * half], sums_[b][2 * half + 1]);
      }
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
  const unsigned warp_, lane_, row_, part_, first_column_;
  char* memory_;
  Count first_tile_;
  unsigned tiles_;
  float sums_[kBlocks][4] = {};
};

template <Core kCore, int kColumns>
__global__ void __launch_bounds__(kTileThreads) multiply_tiles(const DeviceTiles p) {
  TileProduct<kCore, kColumns>(p).run();
}

using TileKernel = void (*)(DeviceTiles);

/// The kernels of a warpgroup; null in a build without sm_90a.
TileKernel warpgroup_kernel(int columns);

}  // namespace retensor::tca_spmm
