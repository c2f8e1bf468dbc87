// pasta.cuda.hicoo: PASTA section III.D.2 on CUDA, as the section describes it. MTTKRP in HiCOO
// gives a thread block a block of the tensor; TEW, TS, TTV and TTM are the kernels on coordinates,
// over the arrays of HiCOO and gHiCOO.
#include <cuda_runtime.h>

#include <cstdint>

#include "common/core/types.hpp"
#include "common/formats/hicoo.hpp"
#include "papers/pasta/format/hicoo_work.hpp"
#include "papers/pasta/format/options.hpp"
#include "papers/pasta/kernels/prepare_cuda.hpp"
#include "papers/pasta/kernels/run_cuda.cuh"

namespace retensor::pasta {

/// A tensor in HiCOO. Rows of factors and output are `stride` elements apart.
template <class T>
struct DeviceHicoo {
  const Count* start = nullptr;       ///< blocks + 1
  const Index* block_row = nullptr;   ///< block index of the output mode
  const std::uint8_t* row = nullptr;  ///< element index of the output mode
  const Index* block_other[kMaxOther] = {};
  const std::uint8_t* other[kMaxOther] = {};
  const T* factor[kMaxOther] = {};
  const T* value = nullptr;
  T* out = nullptr;
  Count blocks = 0;
  unsigned rank = 0, stride = 0;
  int block_bits = 0, others = 0;
};

namespace paper {

/// Algorithm 3 as section III.D.2 puts it on GPUs: a thread block per tensor block, one atomicAdd
/// per element. Block indices are read once per nonzero from cache instead of blocking the
/// matrices, which the listing does to shorten addresses.
template <class T>
__global__ void hicoo_mttkrp(DeviceHicoo<T> x) {
  for (Count b = blockIdx.x; b < x.blocks; b += gridDim.x)
    for (Count p = x.start[b] + threadIdx.y; p < x.start[b + 1]; p += blockDim.y)
      for (unsigned r = threadIdx.x; r < x.rank; r += blockDim.x) {
        T product = x.value[p];
        for (int k = 0; k < x.others; ++k) {
          const Count i = (static_cast<Count>(x.block_other[k][b]) << x.block_bits) + x.other[k][p];
          product *= x.factor[k][i * x.stride + r];
        }
        const Count i = (static_cast<Count>(x.block_row[b]) << x.block_bits) + x.row[p];
        atomicAdd(&x.out[i * x.stride + r], product);
      }
}

}  // namespace paper

namespace {

using device::Buffer;

template <class T>
class HicooMttkrpRun : public CudaMttkrpRun<T> {
 public:
  HicooMttkrpRun(const Problem& problem, const Hicoo& x)
      : CudaMttkrpRun<T>(problem, "HiCOO-MTTKRP-GPU"),
        start_(x.block_start),
        value_(x.values.template as<T>()) {
    for (std::size_t m = 0; m < x.block_index.size(); ++m) {
      block_.emplace_back(x.block_index[m]);
      element_.emplace_back(x.element[m]);
      this->count_bytes(block_.back(), element_.back());
    }
    this->count_bytes(start_, value_);
    for (const std::size_t m : this->gathered()) {
      d_.factor[d_.others] = this->factors_[static_cast<std::size_t>(d_.others)].data();
      d_.block_other[d_.others] = block_[m].data();
      d_.other[d_.others++] = element_[m].data();
    }
    const auto mode = static_cast<std::size_t>(problem.mode());
    d_.start = start_.data(), d_.value = value_.data(), d_.out = this->out_.data();
    d_.block_row = block_[mode].data(), d_.row = element_[mode].data();
    d_.blocks = x.blocks(), d_.block_bits = x.block_bits;
    d_.rank = static_cast<unsigned>(problem.rank()), d_.stride = this->stride_;
    this->executed_["blocks"] = std::to_string(x.blocks());
  }

  Work work() const override { return hicoo_mttkrp_work(this->problem_, d_.blocks, d_.block_bits); }

 private:
  void launch(cudaStream_t stream) override {
    const dim3 block(16, 16);
    RETENSOR_CUDA_LAUNCH(paper::hicoo_mttkrp<T>, device::blocks_for(d_.blocks, 1), block, 0, stream,
                         d_);
  }

  std::vector<Buffer<Index>> block_;
  std::vector<Buffer<std::uint8_t>> element_;
  Buffer<Count> start_;
  Buffer<T> value_;
  DeviceHicoo<T> d_;
};

}  // namespace

std::unique_ptr<Prepared> prepare_hicoo_cuda(const Problem& problem, const Params& params) {
  const int bits = block_bits(params);
  const auto in_morton_order = [&](const Coo& tensor) {
    return to_hicoo(tensor, {bits, {}}).to_coo();
  };
  return dispatch(problem.dtype(), [&]<class T>() -> std::unique_ptr<Prepared> {
    switch (problem.operation()) {
      case Operation::tew:
        return std::make_unique<ElementwiseRun<T>>(problem, in_morton_order(problem.x()),
                                                   in_morton_order(problem.y()), "HiCOO-TEW-GPU");
      case Operation::ts:
        return std::make_unique<ElementwiseRun<T>>(problem, in_morton_order(problem.x()), Coo(),
                                                   "HiCOO-TS-GPU");
      case Operation::ttv:
      case Operation::ttm:
        return std::make_unique<PaperFiberRun<T>>(
            problem, hicoo_fiber_arrays(to_hicoo(problem.x(), {bits, {problem.mode()}})),
            problem.operation() == Operation::ttv ? "HiCOO-TTV-GPU" : "HiCOO-TTM-GPU");
      default:
        return std::make_unique<HicooMttkrpRun<T>>(problem, to_hicoo(problem.x(), {bits, {}}));
    }
  });
}

}  // namespace retensor::pasta
