// MM-CSF's MTTKRP: every tree of the tensor has a launch, by the level of the output mode in it. A
// group of lanes (common/run/csf_run.cuh) takes 4 consecutive fibers.
//
// inner    output above the leaves: fibers are summed in registers while the output row stays. At
//          the root that ends with one atomic row per change of slice, in the fibers' level with
//          one per fiber (pieces of a cut fiber count as one where a group has them all).
// leaves   output in the leaves: the rows above are multiplied once per fiber, and every nonzero
//          sends one atomic row.
#include "common/baselines/mm_csf/format.hpp"
#include "common/run/csf_run.cuh"
#include "common/run/modes_run.cuh"

namespace retensor::mm_csf {

/// Fibers of a group. The original's warps take so many at the root and one elsewhere, where the
/// number changes nothing but the count of groups.
inline constexpr Count kFibers = 4;

/// The fibers begin .. end of a group.
template <int kLanes>
struct Part {
  Count begin, end;
  __device__ explicit Part(Count fibers) : begin(csf::group_of_grid<kLanes>() * kFibers) {
    end = begin + kFibers < fibers ? begin + kFibers : fibers;
  }
};

/// kUppers levels above the leaves, the output's not counted, are unrolled; 0 reads their number at
/// run time.
template <class T, int kLanes, int kUppers>
__global__ void __launch_bounds__(csf::kThreads) inner(csf::Tree<T> x) {
  const Part<kLanes> part(x.fibers);
  if (part.begin >= part.end) return;
  const csf::Lane<T, kLanes> lane(x.stride);
  Index row = __ldg(x.row + part.begin);
  auto sum = csf::Vec<T>::splat(T(0));
  for (Count f = part.begin; f < part.end; ++f) {
    const Index next = __ldg(x.row + f);
    if (next != row) {
      lane.reduce(sum, x.out, row);
      row = next, sum = csf::Vec<T>::splat(T(0));
    }
    sum.add(csf::fiber_sum<T, kLanes, kUppers>(x, lane, f));
  }
  lane.reduce(sum, x.out, row);
}

template <class T, int kLanes, int kUppers>
__global__ void __launch_bounds__(csf::kThreads) leaves(csf::Tree<T> x) {
  const Part<kLanes> part(x.fibers);
  const csf::Lane<T, kLanes> lane(x.stride);
  for (Count f = part.begin; f < part.end; ++f) {
    auto product = csf::Vec<T>::splat(T(1));
    csf::UpperRows<T, kLanes, kUppers>(x, lane, f).multiply(product);
    const Count end = __ldg(x.start + f + 1);
#pragma unroll 4
    for (Count p = __ldg(x.start + f); p < end; ++p) {
      auto term = csf::Vec<T>::splat(__ldg(x.value + p));
      term.multiply(product);
      lane.reduce(term, x.out, __ldg(x.leaf + p));
    }
  }
}

namespace {

template <class T>
class Run : public CudaModesRun<T> {
 public:
  Run(const Problem& problem, const MmCsf& f) : CudaModesRun<T>(problem, "MM-CSF") {
    for (const Csf& tree : f.trees) {
      trees_.emplace_back(tree, true);
      this->executed_["nonzeros of root " + std::to_string(tree.modes.front() + 1)] =
          std::to_string(tree.nnz());
      this->count_bytes(trees_.back());
    }
  }

 private:
  void pass(int mode, cudaStream_t stream) override {
    for (const auto& tree : trees_) {
      const csf::Tree<T> x = tree.view(mode, this->stride_, this->rows_of(mode), [this](int m) {
        return this->factors_[this->at(m)].data();
      });
      csf::with_shape(x, [&]<int kLanes, int kUppers>() {
        const Count groups = (x.fibers + kFibers - 1) / kFibers;
        const dim3 grid = csf::grid_for<T, kLanes>(groups * kLanes, x.stride);
        if (x.row != nullptr)
          RETENSOR_CUDA_LAUNCH((inner<T, kLanes, kUppers>), grid, csf::kThreads, 0, stream, x);
        else
          RETENSOR_CUDA_LAUNCH((leaves<T, kLanes, kUppers>), grid, csf::kThreads, 0, stream, x);
      });
    }
  }

  std::vector<csf::DeviceTree<T>> trees_;
};

}  // namespace

std::unique_ptr<Prepared> prepare_cuda(const Problem& problem, const Params& params) {
  const MmCsf f = to_mm_csf(problem.x(), static_cast<Count>(params.integer("fiber_limit")));
  return make_typed_run<Run>(problem, f);
}

}  // namespace retensor::mm_csf
