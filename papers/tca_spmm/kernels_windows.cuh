// O = S D with S as windows of 16 rows (windows.hpp): a row of D is gathered once for the 16 rows,
// and their nonzeros in its column are one column of an MMA's left operand.
//
// A thread block takes a window and 64 or 128 columns of D. Its four warps share the strips of 64
// listed columns in turn and nothing else until the end, when their sums are added up. Rows of D
// come 16 at a time through a ring in shared memory of the warp's own (cp.async), as many ahead as
// the ring holds; a strip is decompressed as in kernels_tiles.cuh when its first 16 rows are due.
// No trace is taken: the row of an output is the row of the operand.
#pragma once

#include "common/core/types.hpp"
#include "papers/tca_spmm/ptx.cuh"
#include "papers/tca_spmm/windows.hpp"

namespace retensor::tca_spmm {

inline constexpr unsigned kWindowWarps = 4;
inline constexpr unsigned kWindowThreads = kWindowWarps * kWarpSize;
inline constexpr unsigned kGroupColumns = 16;  ///< listed columns of an MMA, k
inline constexpr unsigned kStripGroups = kTileDepth / kGroupColumns;
inline constexpr unsigned kRingBytes = 16 * 1024;  ///< rows of D of a warp
inline constexpr unsigned kEntriesAhead = 2;       ///< vectors of the next strip that a lane loads
inline constexpr unsigned kWindowStrip = kStripRows * kTileDepth * 2;  ///< bytes
inline constexpr unsigned kWindowBytes = kWindowWarps * (kRingBytes + kWindowStrip);

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

template <int kColumns>
class WindowProduct {
  static constexpr unsigned kBlocks = kColumns / 8;  ///< of the MMA's eight columns
  static constexpr unsigned kRowBytes = kColumns * 2;
  static constexpr unsigned kRing = kRingBytes / (kGroupColumns * kRowBytes);  ///< groups
  /// Entries of a strip, those that the lane has loaded ahead.
  struct Entries {
    Index first = 0, vectors = 0;
    uint4 ahead[kEntriesAhead] = {};
  };

 public:
  __device__ explicit WindowProduct(const DeviceWindows& p)
      : p_(p),
        warp_(threadIdx.x / kWarpSize),
        lane_(threadIdx.x % kWarpSize),
        window_(p.order[blockIdx.x]),
        first_column_(blockIdx.y * kColumns),
        first_strip_(p.strip_start[window_] + warp_),
        end_strip_(p.strip_start[window_ + 1]),
        ring_(block_memory() + warp_ * kRingBytes),
        strip_(block_memory() + kWindowWarps * kRingBytes + warp_ * kWindowStrip) {}

  __device__ void run() {
    Index ahead = load_column(0);
#pragma unroll
    for (unsigned g = 0; g + 1 < kRing; ++g) {
      request(g, ahead);
      ahead = load_column(g + 1);
    }
    Entries entries = load_entries(0);
    for (unsigned g = 0; strip_of(g) < end_strip_; ++g) {
      if (g % kStripGroups == 0) {
        decompress(entries);
        entries = load_entries(g / kStripGroups + 1);
      }
      wait_for_copies<kRing - 2>();
      __syncwarp();
      multiply(g);
      request(g + kRing - 1, ahead);
      ahead = load_column(g + kRing);
    }
    add_warps();
  }

 private:
  /// Of the warp's group g.
  __device__ Index strip_of(unsigned g) const {
    return first_strip_ + g / kStripGroups * kWindowWarps;
  }
  /// Column lane mod 16 of group g.
  __device__ Index load_column(unsigned g) const {
    const Index strip = strip_of(g);
    if (strip >= end_strip_) return kNoColumn;
    return __ldg(p_.columns + Count{strip} * kTileDepth + g % kStripGroups * kGroupColumns +
                 lane_ % kGroupColumns);
  }
  __device__ Entries load_entries(unsigned strips) const {
    Entries e;
    const Index strip = first_strip_ + strips * kWindowWarps;
    if (strip >= end_strip_) return e;
    e.first = p_.entry_start[strip];
    e.vectors = p_.entry_start[strip + 1] - e.first;
#pragma unroll
    for (unsigned q = 0; q < kEntriesAhead; ++q)
      if (const unsigned v = q * kWarpSize + lane_; v < e.vectors)
        e.ahead[q] = __ldg(p_.entries + e.first + v);
    return e;
  }

  /// Begins the copies of group g's rows of D, whose columns the lanes hold; one group in any case.
  __device__ void request(unsigned g, Index column) {
    constexpr unsigned kVectors = kColumns / 8, kAtOnce = kWarpSize / kVectors;
    const unsigned v = lane_ % kVectors;
    char* const to = ring_ + g % kRing * kGroupColumns * kRowBytes;
#pragma unroll
    for (unsigned first = 0; first < kGroupColumns; first += kAtOnce) {
      const unsigned k = first + lane_ / kVectors;
      const Index row = __shfl_sync(kWholeWarp, column, static_cast<int>(k));
      const Count at = first_column_ + 8 * v;
      const bool inside = row != kNoColumn && at < p_.dense_stride;
      copy_async(to + place_in_group(k, v), p_.dense + (inside ? row * p_.dense_stride + at : 0),
                 inside ? 16 : 0);
    }
    commit_copies();
  }
  /// Byte of the vector of row k and columns 8 v to 8 v + 7 of D in a group.
  __device__ static unsigned place_in_group(unsigned k, unsigned v) {
    return k * kRowBytes + (v ^ k % 8) * 16;
  }

  __device__ void decompress(const Entries& e) {
    __syncwarp();
#pragma unroll
    for (unsigned v = 0; v < kWindowStrip / sizeof(uint4) / kWarpSize; ++v)
      reinterpret_cast<uint4*>(strip_)[v * kWarpSize + lane_] = make_uint4(0, 0, 0, 0);
    __syncwarp();
#pragma unroll
    for (unsigned q = 0; q < kEntriesAhead; ++q)
      if (q * kWarpSize + lane_ < e.vectors) put(e.ahead[q]);
    for (unsigned v = kEntriesAhead * kWarpSize + lane_; v < e.vectors; v += kWarpSize)
      put(__ldg(p_.entries + e.first + v));
  }
  __device__ void put(const uint4& four) const {
    put(four.x), put(four.y), put(four.z), put(four.w);
  }
  __device__ void put(std::uint32_t entry) const {
    *reinterpret_cast<std::uint16_t*>(strip_ + (entry & 0xffff)) =
        static_cast<std::uint16_t>(entry >> 16);
  }

  __device__ void multiply(unsigned g) {
    const char* const rows = ring_ + g % kRing * kGroupColumns * kRowBytes;
    Left<16> left;
    load_blocks(left.pair, strip_ + place_in_strip(lane_ % 16, g % kStripGroups * kGroupColumns +
                                                                   lane_ / 16 * 8));
#pragma unroll
    for (unsigned pair = 0; pair < kBlocks / 2; ++pair) {
      std::uint32_t b[4];
      load_blocks_transposed(b, rows + place_in_group(lane_ % 16, 2 * pair + lane_ / 16));
      multiply_add(sums_[2 * pair], left, Right<16>{{b[0], b[1]}});
      multiply_add(sums_[2 * pair + 1], left, Right<16>{{b[2], b[3]}});
    }
  }

  /// The sums of all warps, each of which stores every fourth block of columns.
  __device__ void add_warps() {
    const auto at = [&](unsigned warp, unsigned block) {
      return reinterpret_cast<float4*>(block_memory() + warp * kRingBytes) + block * kWarpSize +
             lane_;
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
  char *const ring_, *const strip_;
  float sums_[kBlocks][4] = {};
};

template <int kColumns>
__global__ void __launch_bounds__(kWindowThreads, 3) multiply_windows(const DeviceWindows p) {
  WindowProduct<kColumns>(p).run();
}

}  // namespace retensor::tca_spmm
