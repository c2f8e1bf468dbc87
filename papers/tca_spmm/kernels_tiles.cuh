// O = S D with S as tiles (tiles.hpp) that are decompressed in shared memory and multiplied as
// dense ones.
//
// A thread block, eight warps, takes a row of tiles, 64 or 128 columns of D, and a part of the
// row's tiles. Of a tile each warp clears its strip and stores the strip's nonzeros at their
// places; the 64 rows of D stand beside it. Rows of D come through a ring of kStages in shared
// memory (cp.async), nonzeros two tiles ahead in registers, and places in the tensor by 32 tiles, a
// lane each, so that no load is waited for. The product is by mma.sync, a warp its strip, or on
// Hopper by wgmma, four warps their strips, which runs beside the decompression of the next tile.
// Where several blocks share outputs, each leaves its sums in memory and the one that comes last
// adds them up.
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
inline constexpr unsigned kStages = 8;      ///< of rows of D
inline constexpr unsigned kTileStages = 3;  ///< of decompressed tiles
/// Rows of D are requested so many tiles ahead: the stage written is that of two tiles before,
/// since the product of the tile before may still read its own.
inline constexpr unsigned kRequestAhead = kStages - 2;
inline constexpr unsigned kStripBytes = kStripRows * kTileDepth * 2;
inline constexpr unsigned kPanelColumns = 64;  ///< of D, rows of 128 bytes
inline constexpr unsigned kPanelBytes = kTileDepth * kPanelColumns * 2;
/// Vectors of entries that a lane loads ahead; strips of more than 384 of 1024 cells have more.
inline constexpr unsigned kVectorsAhead = 3;

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
  static constexpr unsigned kAlignment = 1024;
  static constexpr unsigned kBytes = kTileStages * kTile + kStages * kDense + kAlignment;
};

template <Core kCore, int kColumns>
class TileProduct {
  using Memory = TileMemory<kColumns>;
  static constexpr unsigned kBlocks = kColumns / kFragmentWidth;
  /// A tile as a warp knows it.
  struct Tile {
    Index column = 0, first = 0, vectors = 0;
  };
  /// 32 tiles, of which each lane holds one, and the next 32.
  struct Batch {
    Tile own, next;
  };
  /// Entries of the warp's strip of a tile, those that the lane has loaded.
  struct Entries {
    Index first = 0, vectors = 0;
    uint4 ahead[kVectorsAhead];
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
    Batch requested{load_tile(lane_), load_tile(kWarpSize + lane_)}, loaded = requested;
    for (unsigned t = 0; t < kRequestAhead; ++t) request(t, tile_of(requested, t).column);
    Entries even, odd;
    load_entries(tile_of(loaded, 0), even);
    load_entries(tile_of(loaded, 1), odd);
    for (unsigned t = 0; t < tiles_; t += 2) {
      step(t, even, requested, loaded);
      if (t + 1 < tiles_) step(t + 1, odd, requested, loaded);
    }
    finish();
    if (p_.parts == 1 || add_parts()) store();
  }

 private:
  __device__ char* tile_at(unsigned t) const { return memory_ + t % kTileStages * Memory::kTile; }
  __device__ char* dense_at(unsigned t) const {
    return memory_ + kTileStages * Memory::kTile + t % kStages * Memory::kDense;
  }

  __device__ void step(unsigned t, Entries& entries, Batch& requested, Batch& loaded) {
    decompress(t, entries);
    load_entries(tile_of(loaded, t + 2), entries);
    wait_for_copies<kRequestAhead - 1>();
    meet_core();
    __syncthreads();
    multiply(t);
    request(t + kRequestAhead, tile_of(requested, t + kRequestAhead).column);
  }

  __device__ Tile load_tile(unsigned t) const {
    if (t >= tiles_) return {};
    const Count tile = first_tile_ + t;
    const Index* const start = p_.entry_start + tile * kTileStrips + warp_;
    return {p_.tile_column[tile], start[0], start[1] - start[0]};
  }
  /// Tile t; asked for in their order.
  __device__ Tile tile_of(Batch& batch, unsigned t) const {
    if (t % kWarpSize == 0 && t > 0) {
      batch.own = batch.next;
      batch.next = load_tile(t + kWarpSize + lane_);
    }
    const auto from = [&](Index v) {
      return __shfl_sync(kWholeWarp, v, static_cast<int>(t % kWarpSize));
    };
    return {from(batch.own.column), from(batch.own.first), from(batch.own.vectors)};
  }

  __device__ void load_entries(const Tile& tile, Entries& e) const {
    e.first = tile.first, e.vectors = tile.vectors;
#pragma unroll
    for (unsigned q = 0; q < kVectorsAhead; ++q)
      if (const unsigned v = q * kWarpSize + lane_; v < e.vectors)
        e.ahead[q] = __ldg(p_.entries + e.first + v);
  }

  /// Begins the copies of the rows of D of tile t; one group in any case.
  __device__ void request(unsigned t, Index tile_column) {
    if (t < tiles_) {
      constexpr unsigned kRowVectors = kColumns / 8;
      char* const to = dense_at(t);
#pragma unroll
      for (unsigned q = 0; q < kTileDepth * kRowVectors / kTileThreads; ++q) {
        const unsigned place = q * kTileThreads + threadIdx.x;
        const unsigned k = place / kRowVectors, v = place % kRowVectors;
        const Count row = Count{tile_column} * kTileDepth + k, column = first_column_ + 8 * v;
        const bool inside = row < p_.dense_rows && column < p_.dense_stride;
        copy_async(to + place_in_dense(k, v),
                   p_.dense + (inside ? row * p_.dense_stride + column : 0), inside ? 16 : 0);
      }
    }
    commit_copies();
  }
  /// Byte of the vector of row k and columns 8 v to 8 v + 7 of D in a stage.
  __device__ static unsigned place_in_dense(unsigned k, unsigned v) {
    return v / 8 * kPanelBytes + k * 2 * kPanelColumns + (v % 8 ^ k % 8) * 16;
  }

  __device__ void decompress(unsigned t, const Entries& e) {
    char* const strip = tile_at(t) + warp_ * kStripBytes;
#pragma unroll
    for (unsigned v = 0; v < kStripBytes / sizeof(uint4) / kWarpSize; ++v)
      reinterpret_cast<uint4*>(strip)[v * kWarpSize + lane_] = make_uint4(0, 0, 0, 0);
    __syncwarp();
#pragma unroll
    for (unsigned q = 0; q < kVectorsAhead; ++q)
      if (q * kWarpSize + lane_ < e.vectors) put(strip, e.ahead[q]);
    for (unsigned v = kVectorsAhead * kWarpSize + lane_; v < e.vectors; v += kWarpSize)
      put(strip, __ldg(p_.entries + e.first + v));
  }
  __device__ static void put(char* strip, const uint4& four) {
    put(strip, four.x), put(strip, four.y), put(strip, four.z), put(strip, four.w);
  }
  __device__ static void put(char* strip, std::uint32_t entry) {
    *reinterpret_cast<std::uint16_t*>(strip + (entry & 0xffff)) =
        static_cast<std::uint16_t>(entry >> 16);
  }

  /// Before a barrier: the warpgroup shows what it wrote, and its product of two tiles before is
  /// done, so that the stages of that tile may be written after the barrier.
  __device__ static void meet_core() {
    if constexpr (kCore == Core::warpgroup) {
      wait_for_products<1>();
      show_to_tensor_core();
    }
  }
  __device__ static void finish() {
    if constexpr (kCore == Core::warpgroup) wait_for_products<0>();
  }

  __device__ void multiply(unsigned t) {
    if constexpr (kCore == Core::warpgroup) {
      const char* const rows = tile_at(t) + warp_ / 4 * 4 * kStripBytes;
      begin_products();
#pragma unroll
      for (unsigned k = 0; k < kTileDepth; k += 16)
        multiply_add_async(sums_, swizzled_matrix(rows + 2 * k, 16, 1024),
                           swizzled_matrix(dense_at(t) + k * 2 * kPanelColumns, kPanelBytes, 1024));
      commit_products();
    } else {
#pragma unroll
      for (unsigned k = 0; k < kTileDepth; k += 16) multiply_strip(t, k);
    }
  }
  __device__ void multiply_strip(unsigned t, unsigned k) {
    Left<16> left;
    load_blocks(left.pair,
                tile_at(t) + warp_ * kStripBytes + place_in_strip(lane_ % 16, k + lane_ / 16 * 8));
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
