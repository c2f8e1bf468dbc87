// O = S D with S as windows of 16 rows (windows.hpp): a row of D is gathered once for the 16 rows,
// and their nonzeros in its column are one column of an MMA's left operand.
//
// A thread block takes a window and 64 columns of D. Its four warps share the strips of 64 listed
// columns in turn and nothing else until the end, when their sums are added up. Rows of D come 16
// at a time through a ring in shared memory of the warp's own (cp.async), five such groups ahead;
// the numbers and entries of a strip come there three strips ahead, since a group's copies wait for
// its numbers. A strip is decompressed as in kernels_tiles.cuh when its first 16 rows are due. No
// trace is taken: the row of an output is the row of the operand.
#pragma once

#include "common/core/types.hpp"
#include "papers/tca_spmm/ptx.cuh"
#include "papers/tca_spmm/windows.hpp"

namespace retensor::tca_spmm {

inline constexpr unsigned kWindowWarps = 4;
inline constexpr unsigned kWindowThreads = kWindowWarps * kWarpSize;
inline constexpr unsigned kGroupColumns = 16;  ///< listed columns of an MMA, k
inline constexpr unsigned kStripGroups = kTileDepth / kGroupColumns;
inline constexpr unsigned kWindowColumns = 64;  ///< of D, rows of 128 bytes
/// Groups of rows of D, and strips whose numbers and entries come ahead: three thread blocks fit a
/// multiprocessor of Hopper.
inline constexpr unsigned kRing = 6, kStripsAhead = 3;
inline constexpr unsigned kVectorsKept =
    48;  ///< of entries of a strip; more than 192 are beyond them

/// Shared memory of a warp.
struct WarpMemory {
  uint4 rows[kRing][kGroupColumns][kWindowColumns / 8];
  uint4 strip[kStripRows * kTileDepth / 8];
  uint4 entries[kStripsAhead][kVectorsKept];
  uint4 columns[kStripsAhead][kTileDepth / 4];
  uint2 ranges[kStripsAhead + 1];  ///< first vector of entries and their number; 16 bytes a pair
};
inline constexpr unsigned kWindowBytes = kWindowWarps * sizeof(WarpMemory);

struct DeviceWindows {
  const Index* order = nullptr;  ///< of windows, the longest first
  const Index *strip_start = nullptr, *columns = nullptr, *entry_start = nullptr;
  const uint4* entries = nullptr;
  const std::uint16_t* dense = nullptr;
  Count dense_stride = 0;
  void* out = nullptr;
  Count out_stride = 0;
  bool half_output = false;
  unsigned rows = 0;  ///< M
};

class WindowProduct {
  static constexpr unsigned kBlocks = kWindowColumns / 8;  ///< of the MMA's eight columns
  static constexpr unsigned kRowVectors = kWindowColumns / 8;

 public:
  __device__ explicit WindowProduct(const DeviceWindows& p)
      : p_(p),
        warp_(threadIdx.x / kWarpSize),
        lane_(threadIdx.x % kWarpSize),
        window_(p.order[blockIdx.x]),
        first_column_(blockIdx.y * kWindowColumns),
        first_strip_(p.strip_start[window_] + warp_),
        end_strip_(p.strip_start[window_ + 1]),
        memory_(reinterpret_cast<WarpMemory*>(block_memory()) + warp_) {}

  __device__ void run() {
    load_range(0);
    for (unsigned s = 0; s < kStripsAhead; ++s) request_strip(s);
    commit_copies();
    wait_for_copies<0>();
    __syncwarp();
    for (unsigned g = 0; g + 1 < kRing; ++g) request_group(g);
    for (unsigned s = 0; strip_of(s) < end_strip_; ++s) {
      decompress(s);
      request_strip(s + kStripsAhead);  // with the first group below
#pragma unroll
      for (unsigned q = 0; q < kStripGroups; ++q) {
        const unsigned g = s * kStripGroups + q;
        wait_for_copies<kRing - 2>();
        __syncwarp();
        multiply(g, q);
        request_group(g + kRing - 1);
      }
    }
    add_warps();
  }

 private:
  /// The warp's strip s.
  __device__ Index strip_of(unsigned s) const {
    return first_strip_ + s * kWindowWarps;
  }
  /// Where the entries of 32 of the warp's strips begin, from strip s on, a lane each.
  __device__ void load_range(unsigned s) {
    const Index strip = strip_of(s + lane_);
    range_ = make_uint2(0, 0);
    if (strip < end_strip_) {
      range_.x = p_.entry_start[strip];
      range_.y = p_.entry_start[strip + 1] - range_.x;
    }
  }

  /// Begins the copies of a strip's numbers of columns and of its entries; strips in their order.
  __device__ void request_strip(unsigned s) {
    if (s % kWarpSize == 0 && s > 0) load_range(s);
    const int lane = static_cast<int>(s % kWarpSize);
    const Index first = __shfl_sync(kWholeWarp, range_.x, lane);
    const Index vectors = __shfl_sync(kWholeWarp, range_.y, lane);
    if (lane_ == 0) memory_->ranges[s % kStripsAhead] = make_uint2(first, vectors);
    if (strip_of(s) >= end_strip_) return;
    if (lane_ < kTileDepth / 4)
      copy_async(&memory_->columns[s % kStripsAhead][lane_],
                 p_.columns + Count{strip_of(s)} * kTileDepth + 4 * lane_);
    for (unsigned v = lane_; v < min(vectors, kVectorsKept); v += kWarpSize)
      copy_async(&memory_->entries[s % kStripsAhead][v], p_.entries + first + v);
  }

  /// Begins the copies of group g's rows of D; ends a group of copies in any case.
  __device__ void request_group(unsigned g) {
    const unsigned s = g / kStripGroups;
    if (strip_of(s) < end_strip_) {
      const auto* const columns =
          reinterpret_cast<const Index*>(memory_->columns[s % kStripsAhead]) +
          g % kStripGroups * kGroupColumns;
      const unsigned v = lane_ % kRowVectors;
      const Count at = first_column_ + 8 * v;
#pragma unroll
      for (unsigned k = lane_ / kRowVectors; k < kGroupColumns; k += kWarpSize / kRowVectors) {
        const Index row = columns[k];
        const bool inside = row != kNoColumn && at < p_.dense_stride;
        copy_async(&memory_->rows[g % kRing][k][v ^ k % 8],
                   p_.dense + (inside ? row * p_.dense_stride + at : 0), inside ? 16 : 0);
      }
    }
    commit_copies();
  }

  __device__ void decompress(unsigned s) {
    __syncwarp();
#pragma unroll
    for (unsigned v = 0; v < kStripRows * kTileDepth / 8; v += kWarpSize)
      memory_->strip[v + lane_] = make_uint4(0, 0, 0, 0);
    __syncwarp();
    const uint2 range = memory_->ranges[s % kStripsAhead];
    for (unsigned v = lane_; v < range.y; v += kWarpSize) {
      const uint4 four = v < kVectorsKept ? memory_->entries[s % kStripsAhead][v]
                                          : __ldg(p_.entries + range.x + v);
      put(four.x), put(four.y), put(four.z), put(four.w);
    }
    __syncwarp();
  }
  __device__ void put(std::uint32_t entry) {
    *reinterpret_cast<std::uint16_t*>(reinterpret_cast<char*>(memory_->strip) + (entry & 0xffff)) =
        static_cast<std::uint16_t>(entry >> 16);
  }

  /// Group g, the q-th of its strip.
  __device__ void multiply(unsigned g, unsigned q) {
    Left<16> left;
    load_blocks(left.pair, reinterpret_cast<const char*>(memory_->strip) +
                               place_in_strip(lane_ % 16, q * kGroupColumns + lane_ / 16 * 8));
    const unsigned k = lane_ % 16;
#pragma unroll
    for (unsigned pair = 0; pair < kBlocks / 2; ++pair) {
      std::uint32_t b[4];
      load_blocks_transposed(b, &memory_->rows[g % kRing][k][(2 * pair + lane_ / 16) ^ k % 8]);
      multiply_add(sums_[2 * pair], left, Right<16>{{b[0], b[1]}});
      multiply_add(sums_[2 * pair + 1], left, Right<16>{{b[2], b[3]}});
    }
  }

  /// The sums of all warps, each of which stores every fourth block of columns.
  __device__ void add_warps() {
    const auto at = [&](unsigned warp, unsigned block) {
      auto* const rows = reinterpret_cast<WarpMemory*>(block_memory())[warp].rows;
      return reinterpret_cast<float4*>(rows) + block * kWarpSize + lane_;
    };
    wait_for_copies<0>();
    __syncwarp();
#pragma unroll
    for (unsigned b = 0; b < kBlocks; ++b)
      *at(warp_, b) = make_float4(sums_[b][0], sums_[b][1], sums_[b][2], sums_[b][3]);
    __syncthreads();
    for (unsigned b = warp_; b < kBlocks; b += kWindowWarps) {
      float4 sum = *at(0, b);
#pragma unroll
      for (unsigned w = 1; w < kWindowWarps; ++w) {
        const float4 v = *at(w, b);
        sum.x += v.x, sum.y += v.y, sum.z += v.z, sum.w += v.w;
      }
      store_pair(0, b, sum.x, sum.y);
      store_pair(8, b, sum.z, sum.w);
    }
  }
  __device__ void store_pair(unsigned first, unsigned block, float low, float high) const {
    const Count row = Count{window_} * kStripRows + first + lane_ / 4;
    const Count column = first_column_ + block * 8 + lane_ % 4 * 2;
    if (row >= p_.rows || column >= p_.out_stride) return;
    const Count to = row * p_.out_stride + column;
    if (p_.half_output)
      *reinterpret_cast<std::uint32_t*>(static_cast<std::uint16_t*>(p_.out) + to) =
          to_half_pair(low, high);
    else
      *reinterpret_cast<float2*>(static_cast<float*>(p_.out) + to) = make_float2(low, high);
  }

  const DeviceWindows& p_;
  const unsigned warp_, lane_, window_, first_column_;
  const Index first_strip_, end_strip_;  // of the warp, of the window
  WarpMemory* const memory_;
  uint2 range_ = {};  // of the lane's strip: first vector of entries and number
  float sums_[kBlocks][4] = {};
};

__global__ void __launch_bounds__(kWindowThreads) multiply_windows(const DeviceWindows p) {
  WindowProduct(p).run();
}

}  // namespace retensor::tca_spmm
