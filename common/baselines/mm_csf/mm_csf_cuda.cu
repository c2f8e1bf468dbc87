// The run of mm_csf.cuda; the kernels stand in mm_csf_cuda.cuh.
#include "common/baselines/mm_csf/format.hpp"
#include "common/baselines/mm_csf/mm_csf_cuda.cuh"
#include "common/baselines/mm_csf/mm_csf_cuda.hpp"
#include "common/run/modes_run.cuh"

namespace retensor::mm_csf {
namespace {

template <class T, int kLanes, int kUppers>
void launch_tree(const csf::Tree<T>& x, cudaStream_t stream) {
  const Count groups = (x.fibers + kFibers - 1) / kFibers;
  const dim3 grid = csf::grid_for<T, kLanes>(groups * kLanes, x.stride);
  if (x.row != nullptr)
    RETENSOR_CUDA_LAUNCH((inner<T, kLanes, kUppers>), grid, csf::kThreads, 0, stream, x);
  else
    RETENSOR_CUDA_LAUNCH((leaves<T, kLanes, kUppers>), grid, csf::kThreads, 0, stream, x);
}

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
      device::with_lanes<T>(x.stride, [&]<int kLanes>() {
        with_others(x.uppers, [&]<int kUppers>() { launch_tree<T, kLanes, kUppers>(x, stream); });
      });
    }
  }

  std::vector<csf::DeviceTree<T>> trees_;
};

}  // namespace

std::unique_ptr<Prepared> prepare_cuda(const Problem& problem, const Params& params) {
  const MmCsf f = to_mm_csf(problem.x(), static_cast<Count>(params.integer("fiber_limit")));
  return dispatch(problem.dtype(), [&]<class T>() -> std::unique_ptr<Prepared> {
    return std::make_unique<Run<T>>(problem, f);
  });
}

}  // namespace retensor::mm_csf
