// The run of b_csf.cuda; the kernel stands in b_csf_cuda.cuh.
#include "common/baselines/b_csf/b_csf_cuda.cuh"
#include "common/baselines/b_csf/b_csf_cuda.hpp"

namespace retensor::b_csf {
namespace {

template <class T>
class Run : public CudaMttkrpRun<T> {
 public:
  Run(const Problem& problem, const BCsf& f)
      : CudaMttkrpRun<T>(problem, "B-CSF"), tree_(f.csf, false), share_(f.shares) {
    x_ = tree_.view(problem.mode(), this->stride_, this->out_.data(),
                    [this](int mode) { return this->factor(mode); });
    this->executed_["fibers"] = std::to_string(f.csf.fibers());
    this->executed_["warps"] = std::to_string(f.shares.size());
    this->count_bytes(tree_, share_);
  }

 private:
  void launch(cudaStream_t stream) override {
    device::with_lanes<T>(x_.stride, [&]<int kLanes>() {
      with_others(x_.uppers, [&]<int kUppers>() {
        const dim3 grid = csf::grid_for<T, kLanes>(share_.size() * 32, x_.stride);
        RETENSOR_CUDA_LAUNCH((slices<T, kLanes, kUppers>), grid, csf::kThreads, 0, stream, x_,
                             share_.data(), share_.size());
      });
    });
  }

  csf::DeviceTree<T> tree_;
  device::Buffer<Share> share_;
  csf::Tree<T> x_;
};

}  // namespace

std::unique_ptr<Prepared> prepare_cuda(const Problem& problem, const Params& params) {
  const auto count = [&](const char* name) { return static_cast<Count>(params.integer(name)); };
  const BCsf f =
      to_b_csf(problem.x(), problem.mode(), {count("fiber_limit"), count("warp_nonzeros")});
  return dispatch(problem.dtype(), [&]<class T>() -> std::unique_ptr<Prepared> {
    return std::make_unique<Run<T>>(problem, f);
  });
}

}  // namespace retensor::b_csf
