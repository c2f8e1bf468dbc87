// TTM-chain on MM-CSF: every tree of the tensor has a launch, by the level of the output mode in
// it. A group of lanes, which holds a tile of a result row
// (common/baselines/hicoo_chain/chain_tile_cuda.cuh), takes consecutive fibers.
//
// fibers   output above the leaves: the nonzeros of a fiber add up rows of the leaves' factor
// first;
//          the outer product with the rows of the other levels is made once a fiber and added up in
//          registers while the output row stays. A row goes to the result by atomics.
// leaves   output in the leaves: the outer product of the rows above is made once per nonzero,
// times
//          its value, and goes to the nonzero's row by atomics.
#pragma once

#include "common/baselines/hicoo_chain/chain_tile_cuda.cuh"

namespace retensor::mm_csf_chain {

using chain::kLanes;
using device::Vec;

/// The leaves are no product mode: they are the output's.
inline constexpr int kNoLeaf = -1;

/// One tree and what one output mode makes of it.
template <class T>
struct Tree {
  const Count* start = nullptr;  ///< [fiber], fibers + 1
  /// Of each product mode, ascending: [fiber], of the leaves' mode [nonzero].
  const Index* index[chain::kMaxProducts] = {};
  const Index* row = nullptr;  ///< output row: [fiber], [nonzero] where the leaves are it
  const T* value = nullptr;
  Count fibers = 0;
  unsigned run = 0;    ///< fibers of a group
  int leaf = kNoLeaf;  ///< place of the leaves among the product modes

  __device__ Count first() const {
    return (blockIdx.x * static_cast<Count>(blockDim.x) + threadIdx.x) / kLanes * run;
  }
  __device__ Count end() const { return first() + run < fibers ? first() + run : fibers; }
};

/// The factors of a fiber's outer product; its nonzeros add up the leaves', product mode kLeaf.
template <class T, int kOuter, int kLeaf>
__device__ chain::Factors<T> fiber_part(const Tree<T>& x, const chain::Tile<T, kOuter>& tile,
                                        Count fiber) {
  using Tile = chain::Tile<T, kOuter>;
  chain::Factors<T> part = {T(1), {}, Vec<T>::splat(T(0))};
#pragma unroll
  for (int k = 0; k < kOuter; ++k)
    if (k != kLeaf) part.scale *= tile.outer(k, __ldg(x.index[k] + fiber));
  if constexpr (kLeaf != Tile::kUpper)
    tile.load_upper(part.upper, __ldg(x.index[Tile::kUpper] + fiber));
  if constexpr (kLeaf != Tile::kLast) part.last = tile.last(__ldg(x.index[Tile::kLast] + fiber));
  if constexpr (kLeaf != kNoLeaf) {
    T sum = 0;
    const Count end = __ldg(x.start + fiber + 1);
#pragma unroll 4
    for (Count p = __ldg(x.start + fiber); p < end; ++p) {
      const T value = __ldg(x.value + p);
      const Index leaf = __ldg(x.index[kLeaf] + p);
      if constexpr (kLeaf == Tile::kLast) part.last.fma(Vec<T>::splat(value), tile.last(leaf));
      if constexpr (kLeaf == Tile::kUpper) tile.add_upper(part.upper, value, leaf);
      if constexpr (kLeaf < kOuter) sum += value * tile.outer(kLeaf, leaf);
    }
    if constexpr (kLeaf < kOuter) part.scale *= sum;
  }
  return part;
}

template <class T, int kOuter, int kLeaf>
__global__ void __launch_bounds__(chain::kThreads, (chain::kBlocksPerSm<T, kOuter>))
    fibers(Tree<T> x, chain::Operands<T> operands) {
  const Count first = x.first(), end = x.end();
  if (first >= end) return;
  chain::Tile<T, kOuter> tile(operands);
  Index row = __ldg(x.row + first);
  for (Count f = first; f < end; ++f) {
    const Index to = __ldg(x.row + f);
    if (to != row) tile.flush(row), row = to;
    tile.add(fiber_part<T, kOuter, kLeaf>(x, tile, f));
  }
  tile.flush(row);
}

template <class T, int kOuter>
__global__ void __launch_bounds__(chain::kThreads, (chain::kBlocksPerSm<T, kOuter>))
    leaves(Tree<T> x, chain::Operands<T> operands) {
  const chain::Tile<T, kOuter> tile(operands);
  const Count last = x.end();
  for (Count f = x.first(); f < last; ++f) {
    const auto part = fiber_part<T, kOuter, kNoLeaf>(x, tile, f);
    const Count end = __ldg(x.start + f + 1);
    for (Count p = __ldg(x.start + f); p < end; ++p)
      tile.send(part, __ldg(x.value + p), __ldg(x.row + p));
  }
}

}  // namespace retensor::mm_csf_chain
