// B-CSF's MTTKRP: a warp takes its share of a slice's fibers, every `warps`-th batch, one fiber per
// group of lanes and batch (common/run/csf_run.cuh). Each lane sums in registers over all of
// them; the groups' sums are added by shuffles, and one atomic row goes to the output per warp.
//
// The original launches a kernel per bin of slices; here all bins go in one launch, the heaviest
// first, with a list that names each warp's share.
#include "common/baselines/b_csf/format.hpp"
#include "common/run/csf_run.cuh"

namespace retensor::b_csf {

static_assert(csf::kThreads == 32 * kBlockWarps);

/// kUppers levels between root and leaves are unrolled; 0 reads their number at run time.
template <class T, int kLanes, int kUppers>
__global__ void __launch_bounds__(csf::kThreads)
    slices(csf::Tree<T> x, const Share* share, Count shares) {
  constexpr unsigned kGroups = 32 / kLanes;
  const Count warp = csf::group_of_grid<32>();
  if (warp >= shares) return;
  const Share mine = share[warp];
  const Count first = mine.begin + Count{mine.number} * kGroups;
  if (first >= mine.end) return;  // more groups than fibers
  const csf::Lane<T, kLanes> lane(x.stride);
  const unsigned group = threadIdx.x % 32 / kLanes;
  auto sum = csf::Vec<T>::splat(T(0));
  for (Count f = first + group; f < mine.end; f += Count{mine.warps} * kGroups)
    sum.add(csf::fiber_sum<T, kLanes, kUppers>(x, lane, f));
  __syncwarp();
#pragma unroll
  for (unsigned mask = kLanes; mask < 32; mask *= 2) sum.add(sum.exchanged(mask));
  if (group == 0) lane.reduce(sum, x.out, mine.row);
}

namespace {

template <class T>
class Run : public csf::TreeRun<T> {
 public:
  Run(const Problem& problem, const BCsf& f)
      : csf::TreeRun<T>(problem, "B-CSF", f.csf, false), share_(f.shares) {
    this->executed_["warps"] = std::to_string(f.shares.size());
    this->count_bytes(share_);
  }

 private:
  void launch(cudaStream_t stream) override {
    csf::with_shape(this->x_, [&]<int kLanes, int kUppers>() {
      const dim3 grid = csf::grid_for<T, kLanes>(share_.size() * 32, this->stride_);
      RETENSOR_CUDA_LAUNCH((slices<T, kLanes, kUppers>), grid, csf::kThreads, 0, stream, this->x_,
                           share_.data(), share_.size());
    });
  }

  device::Buffer<Share> share_;
};

}  // namespace

std::unique_ptr<Prepared> prepare_cuda(const Problem& problem, const Params& params) {
  const auto count = [&](const char* name) { return static_cast<Count>(params.integer(name)); };
  const BCsf f =
      to_b_csf(problem.x(), problem.mode(), {count("fiber_limit"), count("warp_nonzeros")});
  return make_typed_run<Run>(problem, f);
}

}  // namespace retensor::b_csf
