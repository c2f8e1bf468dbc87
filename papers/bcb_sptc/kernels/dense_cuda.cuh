// A contraction with a sum for each cell of the result, stored or not: not the paper's. Included by
// .cu files alone.
//
// A result of few cells (format/grouped.hpp) is one range, for which many thread blocks work.
// A thread takes a nonzero of x and adds its products with its partners (format/grouped_device.cuh)
// to the sums of their cells. A thread block has sums of its own in shared memory where they fit,
// as many copies as fit, so that the lanes of a warp seldom meet; in the end it adds the copies up
// and the sums to those in global memory. Otherwise products go there at once. A bit a cell tells
// where there is an entry, so that sums of zero are entries too.
//
// A larger result is cut into ranges of rows whose sums fit into shared memory. A thread block
// takes a range and writes its entries at once, behind those of the ranges that have ended.
//
// In shared memory a cell without a product holds -0. No sum of products is -0, since 0 is added to
// each product: only -0 and -0 add up to -0. Global sums flush subnormal numbers, so that they
// have bits instead.
//
// Bytes: 12 a nonzero of x, 8 a product, most of them of neighbours and from the L1 cache; 4 (1 +
// 1/32) a cell and thread block, added in the L2 cache; 4 (order + 1) an entry.
#pragma once

#include <cstdint>

#include "common/device/warp.cuh"
#include "papers/bcb_sptc/format/grouped_device.cuh"
#include "papers/bcb_sptc/format/tools_device.cuh"

namespace retensor::bcb_sptc {

using device::kWarpSize;

/// Threads of a block with sums in shared memory, and of one that writes entries.
inline constexpr unsigned kSumThreads = 1024;
/// Threads of a block with a range of rows, three blocks a multiprocessor.
inline constexpr unsigned kRangeThreads = 512;
/// Cells of a thread block that writes entries, a thread each.
inline constexpr unsigned kCellsOfBlock = 1024;
static_assert(kCellsOfBlock == kSumThreads);

struct DenseProduct {
  Count nonzeros;
  const std::uint32_t *x_first, *x_cell;
  const float* x_value;
  const Partner* partner;
  unsigned cells;
  unsigned copies;  ///< of the sums in shared memory, a power of two; 0: there are none
  float* sums;
  std::uint32_t* is_entry;  ///< a bit a cell
  Count next_words;         ///< of the sums and bits of the next run, which this one clears
  std::uint32_t* next;

  __device__ void clear_next() const {
    for_each_of_grid(next_words, [&](Count i) { next[i] = 0; });
  }
  /// Calls f(cell, product) for the products of nonzero p of x.
  template <class F>
  __device__ void for_each_product(Count p, const F& f) const {
    std::uint32_t at = x_first[p];
    if (at == kNoPartner) return;
    const std::uint32_t cell = x_cell[p];
    const float x = x_value[p];
    for (bool is_last = false; !is_last; ++at) {
      const Partner y = partner[at];
      is_last = (y.column & Partner::kLast) != 0;
      f(cell + (y.column & ~Partner::kLast), __fadd_rn(__fmul_rn(x, y.value), 0.0f));
    }
  }
};

/// A mode of the result: (row or column / stride) % length.
struct CellMode {
  bool from_x;
  std::uint32_t stride, length;
  Index* out;
};
/// Where entries go.
struct CellEntries {
  float alpha;
  std::uint32_t columns;
  float* values;  ///< null where entries are only counted
  int order;
  CellMode mode[kMaxOrder];

  /// The entry of a cell, which is counted from the first one of row `first_row`.
  __device__ void write(Count entry, std::uint32_t first_row, unsigned cell, float sum) const {
    const std::uint32_t in_range = cell / columns, column = cell - in_range * columns;
    values[entry] = alpha * sum;
    for (int k = 0; k < order; ++k)
      mode[k].out[entry] =
          (mode[k].from_x ? first_row + in_range : column) / mode[k].stride % mode[k].length;
  }
};

/// A result that is cut.
struct RangeProduct {
  DenseProduct product;              ///< of which cells and sums are not used
  const std::uint32_t* range_start;  ///< first nonzero of x of each range, and the end
  std::uint32_t rows, rows_of_range;
  /// Entries of the ranges that have ended, zero before a run, and those of the next run.
  unsigned long long *entries, *next_entries;
};

namespace kernels {

__device__ inline bool has_product(float sum) {
  return __float_as_uint(sum) != 0x80000000u;
}

__global__ void __launch_bounds__(kSumThreads, 2)
    add_in_shared(const __grid_constant__ DenseProduct p) {
  extern __shared__ float sums[];
  p.clear_next();
  for (unsigned i = threadIdx.x; i < p.cells * p.copies; i += kSumThreads) sums[i] = -0.0f;
  __syncthreads();
  const unsigned copy = threadIdx.x & (p.copies - 1);
  for_each_of_grid(p.nonzeros, [&](Count a) {
    p.for_each_product(a, [&](unsigned cell, float product) {
      atomicAdd(sums + cell * p.copies + copy, product);
    });
  });
  __syncthreads();
  const unsigned whole_warps = (p.cells + kWarpSize - 1) / kWarpSize * kWarpSize;
  for (unsigned cell = threadIdx.x; cell < whole_warps; cell += kSumThreads) {
    float sum = -0.0f;
    if (cell < p.cells)
      for (unsigned c = 0; c < p.copies; ++c)  // from another bank in each lane
        sum += sums[cell * p.copies + ((c + threadIdx.x) & (p.copies - 1))];
    const unsigned entries = __ballot_sync(device::kWholeWarp, has_product(sum));
    if (has_product(sum)) atomicAdd(p.sums + cell, sum);
    if (threadIdx.x % kWarpSize == 0 && entries != 0)
      atomicOr(p.is_entry + cell / kWarpSize, entries);
  }
}

__global__ void __launch_bounds__(kThreads) add_in_global(const __grid_constant__ DenseProduct p) {
  p.clear_next();
  for_each_of_grid(p.nonzeros, [&](Count a) {
    p.for_each_product(a, [&](unsigned cell, float product) {
      atomicAdd(p.sums + cell, product);
      std::uint32_t* const word = p.is_entry + cell / kWarpSize;
      const std::uint32_t bit = 1u << cell % kWarpSize;
      if ((__ldcg(word) & bit) == 0) atomicOr(word, bit);
    });
  });
}

/// The sum of `own` over the threads of a block of kSumThreads, in all of them.
__device__ inline unsigned block_total(unsigned own) {
  __shared__ unsigned of_warp[kSumThreads / kWarpSize];
  const auto add = [](unsigned a, unsigned b) { return a + b; };
  const unsigned of_own = device::joined_by_warp(own, add);
  if (threadIdx.x % kWarpSize == 0) of_warp[threadIdx.x / kWarpSize] = of_own;
  __syncthreads();
  return device::joined_by_warp(of_warp[threadIdx.x % kWarpSize], add);
}

/// A thread a cell: entries by cell, ascending. Each block counts those before its cells itself.
__global__ void __launch_bounds__(kSumThreads)
    write_cells(const __grid_constant__ DenseProduct p, const __grid_constant__ CellEntries out) {
  constexpr unsigned kWords = kCellsOfBlock / kWarpSize;
  unsigned before = 0;
  for (unsigned w = threadIdx.x; w < blockIdx.x * kWords; w += kSumThreads)
    before += static_cast<unsigned>(__popc(p.is_entry[w]));
  before = block_total(before);
  const unsigned cell = blockIdx.x * kCellsOfBlock + threadIdx.x, lane = threadIdx.x % kWarpSize;
  for (unsigned w = blockIdx.x * kWords; w < cell / kWarpSize && w * kWarpSize < p.cells; ++w)
    before += static_cast<unsigned>(__popc(p.is_entry[w]));
  if (cell >= p.cells) return;
  const std::uint32_t word = p.is_entry[cell / kWarpSize];
  if ((word >> lane & 1) == 0) return;
  const unsigned entry = before + static_cast<unsigned>(__popc(word & ((1u << lane) - 1)));
  out.write(entry, 0, cell, p.sums[cell]);
}

/// The number of a range's first entry, behind those of the ranges that have ended, and in
/// `before_warp` those of each warp's: warps have `part` neighbouring cells each.
__device__ inline Count entries_before_warp(const RangeProduct& p, const float* sums,
                                            unsigned cells, unsigned part) {
  constexpr unsigned kWarps = kRangeThreads / kWarpSize;
  __shared__ Count before_warp[kWarps];
  const unsigned warp = threadIdx.x / kWarpSize, lane = threadIdx.x % kWarpSize;
  unsigned found = 0;
  for (unsigned cell = warp * part + lane; cell < min(warp * part + part, cells); cell += kWarpSize)
    found += has_product(sums[cell]);
  found = device::joined_by_warp(found, [](unsigned a, unsigned b) { return a + b; });
  if (lane == 0) before_warp[warp] = found;
  __syncthreads();
  if (warp == 0) {
    const Count own = lane < kWarps ? before_warp[lane] : 0, up_to = device::sum_up_to_lane(own);
    unsigned long long first = 0;
    if (lane == kWarpSize - 1) first = atomicAdd(p.entries, up_to);
    first = __shfl_sync(device::kWholeWarp, first, kWarpSize - 1);
    if (lane < kWarps) before_warp[lane] = first + up_to - own;
  }
  __syncthreads();
  return before_warp[warp];
}

/// A thread block a range: clears its sums, adds up its products and writes its entries, by cell.
__global__ void __launch_bounds__(kRangeThreads, 3)
    multiply_range(const __grid_constant__ RangeProduct p,
                   const __grid_constant__ CellEntries out) {
  extern __shared__ float sums[];
  if (blockIdx.x == 0 && threadIdx.x == 0) *p.next_entries = 0;
  const std::uint32_t first_row = blockIdx.x * p.rows_of_range;
  const unsigned cells = min(p.rows_of_range, p.rows - first_row) * out.columns;
  for (unsigned i = threadIdx.x; i < cells; i += kRangeThreads) sums[i] = -0.0f;
  __syncthreads();
  const Count end = p.range_start[blockIdx.x + 1];
  for (Count a = p.range_start[blockIdx.x] + threadIdx.x; a < end; a += kRangeThreads)
    p.product.for_each_product(
        a, [&](unsigned cell, float product) { atomicAdd(sums + cell, product); });
  __syncthreads();

  const unsigned part = (cells + kRangeThreads - 1) / kRangeThreads * kWarpSize;
  Count entry = entries_before_warp(p, sums, cells, part);
  if (out.values == nullptr) return;
  const unsigned begin = threadIdx.x / kWarpSize * part, lane = threadIdx.x % kWarpSize;
  for (unsigned group = begin; group < min(begin + part, cells); group += kWarpSize) {
    const unsigned cell = group + lane;
    const float sum = cell < cells ? sums[cell] : -0.0f;
    const unsigned there = __ballot_sync(device::kWholeWarp, has_product(sum));
    if (has_product(sum))
      out.write(entry + static_cast<Count>(__popc(there & ((1u << lane) - 1))), first_row, cell,
                sum);
    entry += static_cast<Count>(__popc(there));
  }
}

}  // namespace kernels
}  // namespace retensor::bcb_sptc
