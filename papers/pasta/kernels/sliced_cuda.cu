// The run of pasta.cuda.sliced; the kernel stands in sliced_cuda.cuh.
#include "papers/pasta/kernels/prepare_cuda.hpp"

#include <algorithm>
#include <string>

#include "common/run/cuda_run.cuh"
#include "papers/pasta/kernels/sliced_cuda.cuh"
#include "papers/pasta/kernels/tuned_cuda.cuh"

namespace retensor::pasta {
namespace {

using device::Buffer;
using Kernel = void (*)(sliced::Slices, sliced::Product);

/// Vectors of a table's rows: as many as have columns and fit into the table.
unsigned vectors_for(Count rows, unsigned stride) {
  unsigned vectors = 8;
  while (vectors > 1 && (vectors * 2 >= stride || rows * vectors * sizeof(float4) > kTableBytes))
    vectors /= 2;
  return vectors;
}
/// A lane has two of them where there are as many.
unsigned lanes_for(unsigned vectors) {
  return std::max(vectors / 2, 1U);
}

template <unsigned kAhead>
Kernel kernel_for(bool ttv, unsigned vectors) {
  if (ttv) return sliced::multiply_slices<float, 1, 1, kAhead>;
  switch (vectors) {
    case 1:
      return sliced::multiply_slices<float4, 1, 1, kAhead>;
    case 2:
      return sliced::multiply_slices<float4, 2, 1, kAhead>;
    case 4:
      return sliced::multiply_slices<float4, 2, 2, kAhead>;
    default:
      return sliced::multiply_slices<float4, 2, 4, kAhead>;
  }
}

class SlicedRun : public CudaRun {
 public:
  SlicedRun(const Problem& problem, std::int64_t ahead)
      : CudaRun(problem, ttv(problem) ? "TTV on slices" : "TTM on slices"),
        rank_(problem.dense()[0].cols()),
        stride_(ttv(problem) ? 1 : padded<float>(rank_)),
        factor_(upload_padded(problem.dense()[0].view<float>(), stride_)) {
    FiberArrays fibers = fiber_arrays(problem.x(), problem.mode());
    executed_["input"] = fibers.was_sorted ? "sorted" : "sorted by prepare";
    fibers_ = fibers.fibers();
    out_ = Buffer<float>(fibers_ * stride_);
    out_.zero(nullptr);  // the padding of rows is copied back with them
    p_ = {factor_.data(), out_.data(), static_cast<unsigned>(problem.dense()[0].rows()), stride_};
    const unsigned vectors = ttv(problem) ? 1 : vectors_for(p_.rows, stride_);
    upload(to_sliced(fibers, sliced::kSliceLanes / lanes_for(vectors)));
    coordinates_ = std::move(fibers.coordinates);
    kernel_ =
        ahead == 1 ? kernel_for<1>(ttv(problem), vectors) : kernel_for<2>(ttv(problem), vectors);
    set_launch(vectors);
    count_bytes(factor_, out_, start_, row_, shared_, indices_, values_);
  }

  void run(StageTimer& timer) override {
    const auto stream = stream_of(timer);
    if (shared_.size() > 0) {
      timer.stage("zero");
      RETENSOR_CUDA_LAUNCH(tuned::zero_rows<float>,
                           device::blocks_for(shared_.size() * stride_, kZeroThreads), kZeroThreads,
                           0, stream, shared_.data(), shared_.size(), nullptr, p_.out, stride_);
    }
    timer.stage("kernel");
    if (x_.slices > 0)
      RETENSOR_CUDA_LAUNCH(kernel_, grid_, sliced::kSliceThreads, table_bytes_, stream, x_, p_);
  }

  Result result() override {
    Values y(DType::f32, fibers_ * rank_);
    download_padded(out_, stride_, rank_, y.as<float>().data(), rank_);
    const Dims& dims = problem_.x().dims;
    if (ttv(problem_)) return ttv_result(dims, problem_.mode(), coordinates_, std::move(y));
    return ttm_result(dims, problem_.mode(), rank_, coordinates_, std::move(y));
  }

 private:
  static constexpr unsigned kZeroThreads = 256;

  static bool ttv(const Problem& problem) { return problem.operation() == Operation::ttv; }

  void upload(const SlicedFibers& sliced) {
    start_ = Buffer<Index>(sliced.start), row_ = Buffer<Index>(sliced.row);
    shared_ = Buffer<Count>(sliced.shared);
    indices_ = Buffer<uint2>(sliced.indices.size());
    values_ = Buffer<float4>(sliced.values.size());
    indices_.upload({reinterpret_cast<const uint2*>(sliced.indices.data()), indices_.size()});
    values_.upload({reinterpret_cast<const float4*>(sliced.values.data()), values_.size()});
    x_ = {start_.data(), row_.data(), indices_.data(), values_.data(),
          static_cast<unsigned>(sliced.slices())};
    executed_["slices"] = std::to_string(sliced.slices());
    executed_["records"] = std::to_string(sliced.indices.size());
  }

  /// As many thread blocks as run at once.
  void set_launch(unsigned vectors) {
    const unsigned width = ttv(problem_) ? 1 : 4 * vectors;
    table_bytes_ = p_.rows * width * sizeof(float);
    RETENSOR_CUDA_CHECK(cudaFuncSetAttribute(kernel_, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                             static_cast<int>(table_bytes_)));
    int device = 0, multiprocessors = 0, blocks = 0;
    RETENSOR_CUDA_CHECK(cudaGetDevice(&device));
    RETENSOR_CUDA_CHECK(
        cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device));
    RETENSOR_CUDA_CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(
        &blocks, kernel_, sliced::kSliceThreads, table_bytes_));
    const unsigned needed =
        device::blocks_for(x_.slices * sliced::kSliceLanes, sliced::kSliceThreads);
    grid_ = dim3(std::max(1u, std::min(needed, static_cast<unsigned>(multiprocessors * blocks))),
                 (stride_ + width - 1) / width);
    executed_["columns_at_once"] = std::to_string(width);
  }

  const std::uint64_t rank_;
  const unsigned stride_;
  const Buffer<float> factor_;
  Count fibers_ = 0;
  FiberCoordinates coordinates_;
  Buffer<float> out_;
  Buffer<Index> start_, row_;
  Buffer<Count> shared_;
  Buffer<uint2> indices_;
  Buffer<float4> values_;
  sliced::Slices x_{};
  sliced::Product p_{};
  Kernel kernel_ = nullptr;
  unsigned table_bytes_ = 0;
  dim3 grid_;
};

}  // namespace

std::unique_ptr<Prepared> prepare_sliced_cuda(const Problem& problem, const Params& params) {
  return std::make_unique<SlicedRun>(problem, params.integer("ahead"));
}

}  // namespace retensor::pasta
