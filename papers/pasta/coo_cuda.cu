// Runs of pasta.cuda.coo: the paper's kernels on coordinates (section III.B.2).
#include "papers/pasta/cuda_run.cuh"
#include "papers/pasta/methods_cuda.hpp"

namespace retensor::pasta {
namespace {

using device::Buffer;

// Thread blocks of one MTTKRP launch, over which the kernel strides. Consecutive nonzeros of sorted
// input share output rows; blocks that have drifted apart by whole strides collide less than a grid
// with a thread row for every nonzero.
constexpr Count kMttkrpGrid = 1u << 15;

template <class T>
class CooMttkrpRun : public MttkrpRun<T> {
 public:
  explicit CooMttkrpRun(const Problem& problem)
      : MttkrpRun<T>(problem, "COO-MTTKRP-GPU"), value_(problem.x().values.template as<T>()) {
    for (const auto& index : problem.x().indices) {
      indices_.emplace_back(index);
      this->count_bytes(indices_.back());
    }
    this->count_bytes(value_);
    for (const std::size_t m : this->gathered()) {
      d_.factor[d_.others] = this->factors_[static_cast<std::size_t>(d_.others)].data();
      d_.other[d_.others++] = indices_[m].data();
    }
    d_.row = indices_[static_cast<std::size_t>(problem.mode())].data();
    d_.value = value_.data(), d_.out = this->out_.data();
    d_.nnz = problem.x().nnz();
    d_.rank = static_cast<unsigned>(problem.rank()), d_.stride = this->stride_;
  }

 private:
  void launch(cudaStream_t stream) override {
    const dim3 block(16, 16);
    const unsigned grid = device::blocks_for(d_.nnz, block.y, kMttkrpGrid);
    with_others(d_.others, [&]<int kOthers>() {
      RETENSOR_CUDA_LAUNCH((paper::mttkrp<T, kOthers>), grid, block, 0, stream, d_);
    });
  }

  std::vector<Buffer<Index>> indices_;
  Buffer<T> value_;
  DeviceMttkrp<T> d_;
};

}  // namespace

std::unique_ptr<Prepared> prepare_coo_cuda(const Problem& problem, const Params&) {
  return dispatch(problem.dtype(), [&]<class T>() -> std::unique_ptr<Prepared> {
    switch (problem.operation()) {
      case Operation::tew:
        return std::make_unique<ElementwiseRun<T>>(problem, problem.x(), problem.y(),
                                                   "COO-TEW-GPU");
      case Operation::ts:
        return std::make_unique<ElementwiseRun<T>>(problem, problem.x(), Coo(), "COO-TS-GPU");
      case Operation::ttv:
      case Operation::ttm:
        return std::make_unique<PaperFiberRun<T>>(
            problem, fiber_arrays(problem.x(), problem.mode()),
            problem.operation() == Operation::ttv ? "COO-TTV-GPU" : "COO-TTM-GPU");
      default:
        return std::make_unique<CooMttkrpRun<T>>(problem);
    }
  });
}

}  // namespace retensor::pasta
