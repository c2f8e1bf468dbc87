// The run of mm_csf_chain.cuda; the kernels stand in mm_csf_chain_cuda.cuh.
#include <utility>

#include "common/baselines/hicoo_chain/chain_run_cuda.cuh"
#include "common/baselines/mm_csf/format.hpp"
#include "common/run/csf_run.cuh"
#include "papers/hlsto/baselines/mm_csf_chain/mm_csf_chain_cuda.cuh"
#include "papers/hlsto/baselines/mm_csf_chain/mm_csf_chain_cuda.hpp"

namespace retensor::mm_csf_chain {
namespace {

/// Fibers of a group at most: at the root few rows go to the result twice.
constexpr Count kLongestRun = 16;

/// Calls f<k>() for the place k of the leaves among the product modes.
template <int... kPlaces, class F>
void with_place(int leaf, std::integer_sequence<int, kPlaces...>, F&& f) {
  ((leaf == kPlaces ? f.template operator()<kPlaces>() : void()), ...);
}

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
  /// The tree as MTTKRP has it, its levels by product mode.
  Tree<T> view(const csf::DeviceTree<T>& arrays, const std::vector<int>& modes) const {
    const int output = this->problem_.mode();
    const csf::Tree<T> levels =
        arrays.view(output, 0, nullptr, [](int) -> const T* { return nullptr; });
    Tree<T> x;
    x.start = levels.start, x.value = levels.value, x.fibers = levels.fibers;
    x.run = chain::items_per_group(x.fibers, this->tiles(), kLongestRun);
    x.row = modes.back() == output ? levels.leaf : levels.row;
    int upper = 0;
    for (std::size_t l = 0; l + 1 < modes.size(); ++l)
      if (modes[l] != output) x.index[place(modes[l])] = levels.upper[upper++];
    if (modes.back() == output) return x;
    x.leaf = place(modes.back());
    x.index[x.leaf] = levels.leaf;
    return x;
  }
  /// Of a mode among the product modes.
  int place(int mode) const { return mode < this->problem_.mode() ? mode : mode - 1; }

  void launch(cudaStream_t stream) override {
    for (const Tree<T>& x : trees_)
      chain::with_outer(this->outer(), [&]<int kOuter>() { launch_tree<kOuter>(x, stream); });
  }

  template <int kOuter>
  void launch_tree(const Tree<T>& x, cudaStream_t stream) {
    const Count groups = (x.fibers + x.run - 1) / x.run;
    const dim3 grid(device::blocks_for(groups * kLanes, chain::kThreads), this->tiles());
    if (x.leaf == kNoLeaf)
      RETENSOR_CUDA_LAUNCH((leaves<T, kOuter>), grid, chain::kThreads, 0, stream, x, this->x_);
    with_place(x.leaf, std::make_integer_sequence<int, kOuter + 2>{}, [&]<int kLeaf>() {
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
  return dispatch(problem.dtype(), [&]<class T>() -> std::unique_ptr<Prepared> {
    return std::make_unique<Run<T>>(problem, f);
  });
}

}  // namespace retensor::mm_csf_chain
