// Runs on the device that COO and HiCOO have in common: the element-wise operations and products
// over fibers, by the paper's kernels.
#pragma once

#include <algorithm>
#include <string>
#include <utility>

#include "common/run/cuda_run.cuh"
#include "papers/pasta/format/fibers.hpp"
#include "papers/pasta/format/patterns.hpp"
#include "papers/pasta/kernels/coo_cuda.cuh"

namespace retensor::pasta {

inline constexpr unsigned kBlock = 256;  // threads a block, the paper's section V.A.2

/// Elements padded by zeros to a multiple of 8: two 16-byte accesses of single precision.
template <class T>
device::Buffer<T> upload_padded_to_8(std::span<const T> elements) {
  device::Buffer<T> padded((elements.size() + 7) / 8 * 8);
  padded.zero(nullptr);
  padded.upload(elements);
  return padded;
}

/// TEW and TS by the paper's kernels.
template <class T>
void launch_paper(const Elementwise<T>& e, cudaStream_t stream) {
  const unsigned grid = device::blocks_for(e.n, kBlock);
  if (e.y != nullptr)
    RETENSOR_CUDA_LAUNCH(paper::tew<T>, grid, kBlock, 0, stream, e.op, e.x, e.y, e.z, e.n);
  else
    RETENSOR_CUDA_LAUNCH(paper::ts<T>, grid, kBlock, 0, stream, e.op, e.x, e.s, e.z, e.n);
}

/// TEW and TS: value arrays in, value array out. `x` and `y` (TS: empty) hold the operands in the
/// order of the format at hand; `launch` takes those of equal patterns.
template <class T>
class ElementwiseRun : public CudaRun {
 public:
  using Launch = void (*)(const Elementwise<T>&, cudaStream_t);
  ElementwiseRun(const Problem& problem, const Coo& x, const Coo& y, std::string kernel,
                 Launch launch = launch_paper<T>)
      : CudaRun(problem, std::move(kernel)), launch_(launch), x_(x.values.template as<T>()) {
    const Arithmetic op = arithmetic(problem.spec().variant);
    TewPattern pattern;
    if (problem.operation() == Operation::tew) {
      pattern = predict_pattern(x, y, op);
      y_ = device::Buffer<T>(y.values.template as<T>());
    } else {
      pattern.z = x;
    }
    from_x_ = device::Buffer<Count>(pattern.from_x);
    from_y_ = device::Buffer<Count>(pattern.from_y);
    executed_["pattern"] = pattern.equal() ? "equal" : "general";
    result_ = std::move(pattern.z);
    z_ = device::Buffer<T>(result_.nnz());
    e_ = {op, x_.data(), y_.data(), static_cast<T>(problem.spec().scalar), z_.data(), z_.size()};
    count_bytes(x_, y_, z_, from_x_, from_y_);
  }

  void run(StageTimer& timer) override {
    timer.stage("kernel");
    if (e_.n == 0) return;
    if (from_x_.size() == 0) return launch_(e_, stream_of(timer));
    RETENSOR_CUDA_LAUNCH(paper::tew_general<T>, device::blocks_for(e_.n, kBlock), kBlock, 0,
                         stream_of(timer), e_.op, e_.x, e_.y, from_x_.data(), from_y_.data(), e_.z,
                         e_.n);
  }

  Result result() override {
    z_.download(result_.values.template as<T>());
    return result_;
  }

 private:
  const Launch launch_;
  device::Buffer<T> x_, y_, z_;
  device::Buffer<Count> from_x_, from_y_;  // empty for equal patterns
  Elementwise<T> e_;
  Coo result_;
};

/// TTV and TTM on fibers of the product mode.
template <class T>
class FiberRun : public CudaRun {
 public:
  FiberRun(const Problem& problem, FiberArrays fibers, std::string kernel)
      : CudaRun(problem, std::move(kernel)),
        fibers_(std::move(fibers)),
        rank_(problem.dense()[0].cols()),
        stride_(ttv() ? 1 : padded<T>(rank_)),
        value_(upload_padded_to_8<T>(std::as_const(fibers_.value).template as<T>())),
        factor_(upload_padded(problem.dense()[0].template view<T>(), stride_)),
        out_(fibers_.fibers() * stride_) {
    out_.zero(nullptr);  // the padding of rows is copied back with them
    executed_["input"] = fibers_.was_sorted ? "sorted" : "sorted by prepare";
    count_bytes(value_, factor_, out_);
  }

  Result result() override {
    Values y(problem_.dtype(), fibers_.fibers() * rank_);
    download_padded(out_, stride_, rank_, y.as<T>().data(), rank_);
    const Dims& dims = problem_.x().dims;
    if (ttv()) return ttv_result(dims, problem_.mode(), fibers_.coordinates, std::move(y));
    return ttm_result(dims, problem_.mode(), rank_, fibers_.coordinates, std::move(y));
  }

 protected:
  bool ttv() const { return problem_.operation() == Operation::ttv; }

  FiberArrays fibers_;
  const std::uint64_t rank_;
  const unsigned stride_;
  device::Buffer<T> value_, factor_, out_;
};

/// The same by the paper's kernels.
template <class T>
class PaperFiberRun : public FiberRun<T> {
 public:
  PaperFiberRun(const Problem& problem, FiberArrays fibers, std::string kernel)
      : FiberRun<T>(problem, std::move(fibers), std::move(kernel)),
        start_(this->fibers_.start),
        index_(this->fibers_.index) {
    x_.start = start_.data(), x_.index = index_.data(), x_.value = this->value_.data();
    x_.factor = this->factor_.data(), x_.out = this->out_.data();
    x_.fibers = this->fibers_.fibers();
    x_.rank = static_cast<unsigned>(this->rank_), x_.stride = this->stride_;
    this->count_bytes(start_, index_);
  }

  void run(StageTimer& timer) override {
    timer.stage("kernel");
    if (x_.fibers == 0) return;
    if (this->ttv()) {
      RETENSOR_CUDA_LAUNCH(paper::ttv<T>, device::blocks_for(x_.fibers, kBlock), kBlock, 0,
                           stream_of(timer), x_);
      return;
    }
    const unsigned across = std::min(x_.rank, 16u);
    const dim3 block(across, kBlock / across);
    RETENSOR_CUDA_LAUNCH(paper::ttm<T>, device::blocks_for(x_.fibers, block.y), block, 0,
                         stream_of(timer), x_);
  }

 private:
  device::Buffer<Count> start_;
  device::Buffer<Index> index_;
  DeviceFibers<T> x_;
};

}  // namespace retensor::pasta
