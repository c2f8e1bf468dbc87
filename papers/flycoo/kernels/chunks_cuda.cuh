// MTTKRP over all modes in one launch, for tensors whose passes are shorter than the launches and
// the waits between them. Included by .cu files alone.
//
// Each mode has a copy of the nonzeros in the order of its output rows and, within a row, of their
// fibers along the leaves' mode. A group of lanes takes a chunk of neighbours: rows of the leaves
// are added up in registers, a fiber's sum is multiplied by the other factors' rows once. An output
// row that lies inside a chunk is stored; the first and the last of a chunk are added to the output
// by atomics. A thread block whose nonzeros all have one row adds once.
#pragma once

#include <cstdint>

#include "common/core/types.hpp"
#include "common/device/vec.cuh"

namespace retensor::flycoo::chunks {

using device::RowLane;
using device::Vec;

inline constexpr unsigned kThreads = 128;
inline constexpr unsigned kAhead = 4;               ///< nonzeros whose rows a group loads at a time
inline constexpr std::uint32_t kBegins = 1u << 31;  ///< of a row: a fiber begins with the nonzero
inline constexpr std::uint32_t kNoneYet = ~0u;

/// What the kernel reads of a mode.
struct ChunkedMode {
  const uint4* records = nullptr;     ///< row with kBegins, upper row, leaf, value
  const Index* more[kMaxOrder] = {};  ///< upper rows from the second on, by nonzero
  const float* upper[kMaxOrder] = {};
  const float* leaf = nullptr;
  float* out = nullptr;
  unsigned uppers = 0;
  unsigned first_block = 0;
};

struct ChunkedTensor {
  ChunkedMode mode[kMaxOrder];
  unsigned modes = 0;
  std::uint32_t nnz = 0, chunk = 0;  ///< of a group, a multiple of kAhead
  unsigned stride = 0;
};

template <int kLanes>
class ChunkWalk : RowLane<float, kLanes> {
  using Sum = Vec<float>;
  static constexpr unsigned kGroups = kThreads / kLanes;

 public:
  __device__ ChunkWalk(const ChunkedTensor& x, const ChunkedMode& mode)
      : x_(x), mode_(mode), holds_(this->column < x.stride), at_(holds_ ? this->column : 0) {}

  __device__ void run(unsigned block, float4* shared) {
    const std::uint32_t first = block * kGroups * x_.chunk;
    const std::uint32_t own = first + threadIdx.x / kLanes * x_.chunk;
    const std::uint32_t begin = own < x_.nnz ? own : x_.nnz;
    const std::uint32_t end = x_.chunk < x_.nnz - begin ? begin + x_.chunk : x_.nnz;
    for (std::uint32_t p = begin; p < end; p += kAhead) add(p, begin, end);
    end_fiber();
    const std::uint32_t of_block = __ldg(&mode_.records[first].x) & ~kBegins;
    if (__syncthreads_and(row_ == kNoneYet || (is_first_ && row_ == of_block)))
      add_block(of_block, shared);
    else if (row_ != kNoneYet)
      add_to_output(row_, sum_);
  }

 private:
  __device__ Sum row_of(const float* factor, std::uint32_t row) const {
    return Sum::load(factor + Count{row} * x_.stride + at_);
  }
  /// The product of the upper factors' rows of nonzero p.
  __device__ Sum upper_of(std::uint32_t p, std::uint32_t upper) const {
    if (mode_.uppers == 0) return Sum::splat(1);
    Sum product = row_of(mode_.upper[0], upper);
    for (unsigned k = 1; k < mode_.uppers; ++k)
      product.multiply(row_of(mode_.upper[k], __ldg(mode_.more[k] + p)));
    return product;
  }

  /// The nonzeros from p on, as many as are loaded at a time. The first of a chunk begins a fiber
  /// for its group, wherever that began.
  __device__ void add(std::uint32_t p, std::uint32_t begin, std::uint32_t end) {
    uint4 record[kAhead];
    Sum leaf[kAhead], upper[kAhead];
#pragma unroll
    for (unsigned u = 0; u < kAhead; ++u)
      if (p + u < end) record[u] = __ldg(mode_.records + p + u);
#pragma unroll
    for (unsigned u = 0; u < kAhead; ++u) {
      if (p + u >= end) continue;
      if (p + u == begin) record[u].x |= kBegins;
      leaf[u] = row_of(mode_.leaf, record[u].z);
      if ((record[u].x & kBegins) != 0) upper[u] = upper_of(p + u, record[u].y);
    }
#pragma unroll
    for (unsigned u = 0; u < kAhead; ++u) {
      if (p + u >= end) continue;
      if ((record[u].x & kBegins) != 0) begin_fiber(record[u].x & ~kBegins, upper[u]);
      of_fiber_.fma(Sum::splat(__uint_as_float(record[u].w)), leaf[u]);
    }
  }
  __device__ void begin_fiber(std::uint32_t row, const Sum& upper) {
    end_fiber();
    if (row != row_) end_row(row);
    upper_ = upper;
  }
  __device__ void end_fiber() {
    sum_.fma(of_fiber_, upper_);
    of_fiber_ = Sum::splat(0);
  }
  __device__ void end_row(std::uint32_t next) {
    if (row_ != kNoneYet && is_first_)
      add_to_output(row_, sum_);
    else if (row_ != kNoneYet && holds_)
      sum_.store(output(row_));
    is_first_ = row_ == kNoneYet;
    row_ = next, sum_ = Sum::splat(0);
  }

  __device__ float* output(std::uint32_t row) const {
    return mode_.out + Count{row} * x_.stride + at_;
  }
  __device__ void add_to_output(std::uint32_t row, const Sum& sum) const {
    if (holds_) sum.reduce_into(output(row));
  }
  /// All groups of the block have sums of one row.
  __device__ void add_block(std::uint32_t row, float4* shared) {
    shared[threadIdx.x] = sum_.v;
    for (unsigned half = kThreads / 2; half >= kLanes; half /= 2) {
      __syncthreads();
      if (threadIdx.x >= half) continue;
      sum_.add({shared[threadIdx.x + half]});
      shared[threadIdx.x] = sum_.v;
    }
    if (threadIdx.x < kLanes) add_to_output(row, sum_);
  }

  const ChunkedTensor& x_;
  const ChunkedMode& mode_;
  const bool holds_;   // whether the row has columns of this lane
  const unsigned at_;  // the lane's first column, or some
  Sum sum_ = Sum::splat(0), of_fiber_ = Sum::splat(0), upper_ = Sum::splat(0);
  std::uint32_t row_ = kNoneYet;
  bool is_first_ = true;  // the row is the first of the chunk
};

/// Thread blocks (b, w): chunks of one mode, the tile w of columns.
template <int kLanes>
__global__ void __launch_bounds__(kThreads) walk_chunks(const __grid_constant__ ChunkedTensor x) {
  __shared__ float4 shared[kThreads];
  unsigned m = 0;
  while (m + 1 < x.modes && blockIdx.x >= x.mode[m + 1].first_block) ++m;
  ChunkWalk<kLanes>(x, x.mode[m]).run(blockIdx.x - x.mode[m].first_block, shared);
}

}  // namespace retensor::flycoo::chunks
