// The run of fwc.cuda; the kernel stands in fwc_cuda.cuh.
#include <algorithm>

#include "common/baselines/fwc/fwc_cuda.cuh"
#include "common/baselines/fwc/fwc_cuda.hpp"
#include "common/tensor/operations.hpp"

namespace retensor::fwc {
namespace {

/// The output mode, then the others by ascending length: the longest is the leaves'.
std::vector<int> levels(const Problem& problem) {
  const Dims& dims = problem.x().dims;
  std::vector<int> modes = natural_order(problem.x().order());
  const auto before = [&](int a, int b) {
    if ((a == problem.mode()) != (b == problem.mode())) return a == problem.mode();
    return dims[static_cast<std::size_t>(a)] < dims[static_cast<std::size_t>(b)];
  };
  std::stable_sort(modes.begin(), modes.end(), before);
  return modes;
}

template <class T>
class Run : public CudaMttkrpRun<T> {
 public:
  Run(const Problem& problem, const Csf& f) : CudaMttkrpRun<T>(problem, "FWC"), tree_(f, true) {
    x_ = tree_.view(problem.mode(), this->stride_, this->out_.data(),
                    [this](int mode) { return this->factor(mode); });
    this->executed_["fibers"] = std::to_string(f.fibers());
    this->executed_["format_bytes"] = std::to_string(f.bytes());
    this->count_bytes(tree_);
  }

 private:
  void launch(cudaStream_t stream) override {
    device::with_lanes<T>(x_.stride, [&]<int kLanes>() {
      with_others(x_.uppers, [&]<int kUppers>() {
        const dim3 grid = csf::grid_for<T, kLanes>(x_.fibers * kLanes, x_.stride);
        RETENSOR_CUDA_LAUNCH((fibers<T, kLanes, kUppers>), grid, csf::kThreads, 0, stream, x_);
      });
    });
  }

  csf::DeviceTree<T> tree_;
  csf::Tree<T> x_;
};

}  // namespace

std::unique_ptr<Prepared> prepare_cuda(const Problem& problem) {
  const Csf f = to_csf(problem.x(), {levels(problem), 0});
  return dispatch(problem.dtype(), [&]<class T>() -> std::unique_ptr<Prepared> {
    return std::make_unique<Run<T>>(problem, f);
  });
}

}  // namespace retensor::fwc
