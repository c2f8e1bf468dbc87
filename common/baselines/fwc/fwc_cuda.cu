// FWC's MTTKRP: a group of lanes (common/run/csf_run.cuh) takes one fiber. Its inner products
// with the columns of the leaves' factor add up in registers, are multiplied by the rows of the
// levels between, and go to the fiber's output row by one atomic row.
#include "common/run/csf_run.cuh"

namespace retensor::fwc {

/// kUppers levels between root and leaves are unrolled; 0 reads their number at run time.
template <class T, int kLanes, int kUppers>
__global__ void __launch_bounds__(csf::kThreads) fibers(csf::Tree<T> x) {
  const Count fiber = csf::group_of_grid<kLanes>();
  if (fiber >= x.fibers) return;
  const csf::Lane<T, kLanes> lane(x.stride);
  const Index row = __ldg(x.row + fiber);
  lane.reduce(csf::fiber_sum<T, kLanes, kUppers>(x, lane, fiber), x.out, row);
}

namespace {

template <class T>
class Run : public csf::TreeRun<T> {
 public:
  Run(const Problem& problem, const Csf& f) : csf::TreeRun<T>(problem, "FWC", f, true) {
    this->executed_["format_bytes"] = std::to_string(f.bytes());
  }

 private:
  void launch(cudaStream_t stream) override {
    csf::with_shape(this->x_, [&]<int kLanes, int kUppers>() {
      const dim3 grid = csf::grid_for<T, kLanes>(this->x_.fibers * kLanes, this->stride_);
      RETENSOR_CUDA_LAUNCH((fibers<T, kLanes, kUppers>), grid, csf::kThreads, 0, stream, this->x_);
    });
  }
};

}  // namespace

std::unique_ptr<Prepared> prepare_cuda(const Problem& problem, const Params&) {
  const Csf f = to_csf(problem.x(), {levels_below(problem.mode(), problem.x().dims)});
  return make_typed_run<Run>(problem, f);
}

}  // namespace retensor::fwc
