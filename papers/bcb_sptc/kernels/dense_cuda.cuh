// A contraction whose result has a sum for each cell, stored or not, in shared memory: not the
// paper's. Included by .cu files alone.
//
// The rows of the result are cut into ranges whose sums fit. A thread block clears the sums of a
// range, adds up the products of its nonzeros of x, and writes the entries: no hash table, and no
// pass that only counts. Where there are fewer ranges than the device runs blocks, several blocks
// share one, each with an equal part of the nonzeros; they add their sums to those in global
// memory, and the last one of the range takes them from there. Where a range is small, its block
// has several copies of the sums, so that the lanes of a warp seldom meet.
//
// A thread takes four nonzeros of x at a time, whose loads run together, and walks over the
// partners of each (format/grouped_device.cuh).
//
// In shared memory a cell without a product holds -0. No sum of products is -0, since 0 is added to
// each product, and only -0 and -0 add up to -0. Global sums flush subnormal numbers, so that they
// have a bit a cell beside them.
//
// Bytes: 12 a nonzero of x, 8 a product, most of them from the L1 cache; 4 (order + 1) an entry; of
// shared memory 8 a product and 12 a cell. Atomic additions to shared memory, of which Hopper makes
// a compare-and-swap, bind: 75 G products a second on an H200.
#pragma once

#include <cstdint>

#include "common/device/warp.cuh"
#include "papers/bcb_sptc/format/grouped_device.cuh"
#include "papers/bcb_sptc/format/tools_device.cuh"

namespace retensor::bcb_sptc {

using device::kWarpSize;

inline constexpr unsigned kSumThreads = 1024, kSumWarps = 32;
/// Nonzeros of x that a thread takes at a time.
inline constexpr unsigned kTaken = 4;

/// A mode of the result: (row or column / stride) % length.
struct CellMode {
  bool from_x;
  std::uint32_t stride, length;
  Index* out;
};

struct DenseProduct {
  const std::uint32_t *range_start, *x_first, *x_cell;
  const float* x_value;
  const Partner* partner;
  std::uint32_t rows, columns, rows_of_range;
  unsigned copies;           ///< of a range's sums, a power of two
  unsigned blocks_of_range;  ///< thread blocks that share a range
  float alpha;
  /// With several blocks a range, each zero before and after a run: sums and bits of all cells of
  /// whole ranges, and how many blocks of a range have ended.
  float* sums;
  std::uint32_t *is_entry, *ended;
  /// Entries of the ranges that have ended, zero before a run, and those of the next run.
  std::uint32_t *entries, *next_entries;
  float* values;  ///< null where entries are only counted
  int order;
  CellMode mode[kMaxOrder];

  __device__ unsigned range() const { return blockIdx.x / blocks_of_range; }
  __device__ std::uint32_t first_row() const { return range() * rows_of_range; }
  /// Of the range, of which the last one has fewer rows.
  __device__ unsigned cells() const { return min(rows_of_range, rows - first_row()) * columns; }
};

namespace kernels {

__device__ inline bool has_product(float sum) {
  return __float_as_uint(sum) != 0x80000000u;
}

/// Adds the products of the block's nonzeros of x.
__device__ inline void add_all_products(const DenseProduct& p, float* sums) {
  const std::uint32_t begin = p.range_start[p.range()], end = p.range_start[p.range() + 1];
  const unsigned copy = threadIdx.x & (p.copies - 1), part = blockIdx.x % p.blocks_of_range;
  constexpr Count kAtOnce = kTaken * kSumThreads;
  for (Count base = begin + part * kAtOnce; base < end; base += p.blocks_of_range * kAtOnce) {
    std::uint32_t at[kTaken], cell[kTaken];
    float x[kTaken];
    Partner y[kTaken];
#pragma unroll
    for (unsigned t = 0; t < kTaken; ++t) {
      const Count a = base + t * kSumThreads + threadIdx.x;
      at[t] = a < end ? p.x_first[a] : kNoPartner;
      cell[t] = a < end ? p.x_cell[a] : 0;
      x[t] = a < end ? p.x_value[a] : 0;
    }
#pragma unroll
    for (unsigned t = 0; t < kTaken; ++t)
      if (at[t] != kNoPartner) y[t] = p.partner[at[t]];
#pragma unroll
    for (unsigned t = 0; t < kTaken; ++t) {
      if (at[t] == kNoPartner) continue;
      for (;;) {
        const unsigned to = cell[t] + (y[t].column & ~Partner::kLast);
        atomicAdd(sums + to * p.copies + copy, __fadd_rn(__fmul_rn(x[t], y[t].value), 0.0f));
        if ((y[t].column & Partner::kLast) != 0) break;
        y[t] = p.partner[++at[t]];
      }
    }
  }
}

/// Adds the copies up in the first `cells` words; the whole block comes.
__device__ inline void join_copies(const DenseProduct& p, float* sums) {
  if (p.copies == 1) return;
  constexpr unsigned kMost = kSumWords / 2 / kSumThreads;  // cells of a thread
  const unsigned cells = p.cells();
  float own[kMost];
#pragma unroll
  for (unsigned i = 0; i < kMost; ++i) {
    const unsigned cell = i * kSumThreads + threadIdx.x;
    own[i] = -0.0f;
    if (cell < cells)
      for (unsigned c = 0; c < p.copies; ++c)  // from another bank in each lane
        own[i] += sums[cell * p.copies + ((c + threadIdx.x) & (p.copies - 1))];
  }
  __syncthreads();
#pragma unroll
  for (unsigned i = 0; i < kMost; ++i)
    if (const unsigned cell = i * kSumThreads + threadIdx.x; cell < cells) sums[cell] = own[i];
  __syncthreads();
}

/// Adds the block's sums to those of its range. In the last block of the range `sums` then has all
/// of them, and the global ones are zero again; whether this is the last one.
__device__ inline bool join_blocks(const DenseProduct& p, float* sums) {
  __shared__ bool is_last;
  const unsigned cells = p.cells(), whole = (cells + kWarpSize - 1) / kWarpSize * kWarpSize;
  const Count first = Count{p.range()} * p.rows_of_range * p.columns;
  float* const all = p.sums + first;
  std::uint32_t* const bits =
      p.is_entry + p.range() * ((Count{p.rows_of_range} * p.columns + kWarpSize - 1) / kWarpSize);
  for (unsigned cell = threadIdx.x; cell < whole; cell += kSumThreads) {
    const float sum = cell < cells ? sums[cell] : -0.0f;
    const unsigned entries = __ballot_sync(device::kWholeWarp, has_product(sum));
    if (has_product(sum)) atomicAdd(all + cell, sum);
    if (threadIdx.x % kWarpSize == 0 && entries != 0) atomicOr(bits + cell / kWarpSize, entries);
  }
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) is_last = atomicAdd(p.ended + p.range(), 1) + 1 == p.blocks_of_range;
  __syncthreads();
  if (!is_last) return false;
  __threadfence();
  for (unsigned cell = threadIdx.x; cell < whole; cell += kSumThreads) {
    const std::uint32_t word = __ldcg(bits + cell / kWarpSize);
    const bool is_there = (word >> cell % kWarpSize & 1) != 0;
    if (cell < cells) sums[cell] = is_there ? __ldcg(all + cell) + 0.0f : -0.0f;
    if (is_there) all[cell] = 0;
    __syncwarp();
    if (threadIdx.x % kWarpSize == 0) bits[cell / kWarpSize] = 0;
  }
  if (threadIdx.x == 0) p.ended[p.range()] = 0;
  __syncthreads();
  return true;
}

/// Writes the entries of a range by cell, behind those of the ranges that have ended.
__device__ inline void write_range(const DenseProduct& p, const float* sums) {
  __shared__ unsigned before_warp[kSumWarps];
  const unsigned warp = threadIdx.x / kWarpSize, lane = threadIdx.x % kWarpSize;
  const unsigned cells = p.cells();
  // A warp has neighbours, whole groups of 32.
  const unsigned part = (cells + kSumThreads - 1) / kSumThreads * kWarpSize;
  const unsigned begin = warp * part, end = min(begin + part, cells);
  unsigned found = 0;
  for (unsigned cell = begin + lane; cell < end; cell += kWarpSize)
    found += has_product(sums[cell]);
  found = device::joined_by_warp(found, [](unsigned a, unsigned b) { return a + b; });
  if (lane == 0) before_warp[warp] = found;
  __syncthreads();
  if (warp == 0) {
    const unsigned own = before_warp[lane], up_to = device::sum_up_to_lane(own);
    unsigned first = 0;
    if (lane == kWarpSize - 1) first = atomicAdd(p.entries, up_to);
    before_warp[lane] = __shfl_sync(device::kWholeWarp, first, kWarpSize - 1) + up_to - own;
  }
  __syncthreads();
  if (p.values == nullptr) return;
  Count entry = before_warp[warp];
  for (unsigned group = begin; group < end; group += kWarpSize) {
    const unsigned cell = group + lane;
    const float sum = cell < end ? sums[cell] : -0.0f;
    const unsigned there = __ballot_sync(device::kWholeWarp, has_product(sum));
    if (has_product(sum)) {
      const Count own = entry + static_cast<Count>(__popc(there & ((1u << lane) - 1)));
      const std::uint32_t in_range = cell / p.columns, column = cell - in_range * p.columns;
      const std::uint32_t row = p.first_row() + in_range;
      p.values[own] = p.alpha * sum;
      for (int k = 0; k < p.order; ++k) {
        const CellMode& mode = p.mode[k];
        mode.out[own] = (mode.from_x ? row : column) / mode.stride % mode.length;
      }
    }
    entry += static_cast<Count>(__popc(there));
  }
}

__global__ void __launch_bounds__(kSumThreads, 2)
    multiply_range(const __grid_constant__ DenseProduct p) {
  extern __shared__ float sums[];
  if (blockIdx.x == 0 && threadIdx.x == 0) *p.next_entries = 0;
  for (unsigned i = threadIdx.x; i < p.cells() * p.copies; i += kSumThreads) sums[i] = -0.0f;
  __syncthreads();
  add_all_products(p, sums);
  __syncthreads();
  join_copies(p, sums);
  if (p.blocks_of_range > 1 && !join_blocks(p, sums)) return;
  write_range(p, sums);
}

}  // namespace kernels
}  // namespace retensor::bcb_sptc
