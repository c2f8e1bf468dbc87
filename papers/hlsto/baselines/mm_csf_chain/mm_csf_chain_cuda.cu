// TTM-chain on MM-CSF: every tree of the tensor has a launch, by the level of the output mode in
// it. A group of lanes, which holds a tile of a result row
// (common/baselines/hicoo_chain/chain_tile_cuda.cuh), takes consecutive fibers.
//
// fibers   output above the leaves: the nonzeros of a fiber add up rows of the leaves' factor
//          first; the outer product with the rows of the other levels is made once a fiber and
//          added up in registers while the output row stays. A row goes to the result by atomics.
// leaves   output in the leaves: the rows above are loaded once a fiber; each nonzero sends their
//          outer product, times its value, to its row by atomics.
#include "common/baselines/hicoo_chain/chain_run_cuda.cuh"
#include "common/baselines/mm_csf/format.hpp"
#include "common/run/csf_run.cuh"

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

namespace {

/// Fibers of a group at most: at the root few rows go to the result twice.
constexpr Count kLongestRun = 16;

template <class T>
class Run : public chain::ChainRun<T> {
 public:
  Run(const Problem& problem, const mm_csf::MmCsf& f) : chain::ChainRun<T>(problem, "MM-CSF") {
    for (const Csf& tree : f.trees) {
      arrays_.emplace_back(tree, true);
      trees_.push_back(view(arrays_.back(), tree.modes));
      this->executed_["nonzeros of root " + std::to_string(tree.modes.front() + 1)] =
          std::to_string(tree.nnz());
      this->executed_["fibers of root " + std::to_string(tree.modes.front() + 1)] =
          std::to_string(tree.fibers());
      this->count_bytes(arrays_.back());
    }
    this->executed_["format_bytes"] = std::to_string(f.bytes());
  }

 private:
  Tree<T> view(const csf::DeviceTree<T>& arrays, const std::vector<int>& modes) const {
    const int output = this->problem_.mode();
    Tree<T> x;
    x.start = arrays.start(), x.value = arrays.value(), x.fibers = arrays.fibers();
    x.run = chain::items_per_group(x.fibers, this->tiles(), kLongestRun);
    for (const int m : modes) (m == output ? x.row : x.index[place(m)]) = arrays.indices(m);
    if (modes.back() != output) x.leaf = place(modes.back());
    return x;
  }
  /// Of a mode among the product modes.
  int place(int mode) const { return mode < this->problem_.mode() ? mode : mode - 1; }

  void launch(cudaStream_t stream) override {
    chain::with_constant<chain::kMostOuter + 1>(this->outer(), [&]<int kOuter>() {
      for (const Tree<T>& x : trees_) launch_tree<kOuter>(x, stream);
    });
  }

  template <int kOuter>
  void launch_tree(const Tree<T>& x, cudaStream_t stream) {
    const Count groups = (x.fibers + x.run - 1) / x.run;
    const dim3 grid(device::blocks_for(groups * kLanes, chain::kThreads), this->tiles());
    if (x.leaf == kNoLeaf)
      RETENSOR_CUDA_LAUNCH((leaves<T, kOuter>), grid, chain::kThreads, 0, stream, x, this->x_);
    chain::with_constant<kOuter + 2>(x.leaf, [&]<int kLeaf>() {
      RETENSOR_CUDA_LAUNCH((fibers<T, kOuter, kLeaf>), grid, chain::kThreads, 0, stream, x,
                           this->x_);
    });
  }

  std::vector<csf::DeviceTree<T>> arrays_;
  std::vector<Tree<T>> trees_;
};

}  // namespace

std::unique_ptr<Prepared> prepare_cuda(const Problem& problem, const Params& params) {
  const auto f = mm_csf::to_mm_csf(problem.x(), static_cast<Count>(params.integer("fiber_limit")));
  return make_typed_run<Run>(problem, f);
}

}  // namespace retensor::mm_csf_chain
