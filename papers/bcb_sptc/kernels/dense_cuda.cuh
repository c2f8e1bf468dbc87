// A contraction with a result of few cells, each of which has a sum, stored or not: not the
// paper's. Included by .cu files alone.
//
// A thread takes a nonzero of x and adds its products with its partners (format/grouped_device.cuh)
// to the sums of their cells. A thread block has sums of its own in shared memory where they fit,
// as many copies as fit, so that the lanes of a warp seldom meet; in the end it adds the copies up
// and the sums to those in global memory. Otherwise products go there at once. A bit a cell tells
// where there is an entry, so that sums of zero are entries too.
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
/// Words of shared memory that a block's sums may take, two blocks a multiprocessor.
inline constexpr unsigned kSumWords = 1 << 14;
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

/// A mode of the result: (cell / stride) % length.
struct CellMode {
  std::uint32_t stride, length;
  Index* out;
};
struct CellModes {
  int order;
  CellMode mode[kMaxOrder];
};

namespace kernels {

__device__ inline bool has_product(float sum) {
  return __float_as_uint(sum) != 0x80000000u;
}

__global__ void __launch_bounds__(kSumThreads, 2)
    add_in_shared(const __grid_constant__ DenseProduct p) {
  extern __shared__ float sums[];
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
    write_cells(const __grid_constant__ DenseProduct p, float alpha, float* values,
                const __grid_constant__ CellModes modes) {
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
  values[entry] = alpha * p.sums[cell];
  for (int k = 0; k < modes.order; ++k)
    modes.mode[k].out[entry] = cell / modes.mode[k].stride % modes.mode[k].length;
}

}  // namespace kernels
}  // namespace retensor::bcb_sptc
