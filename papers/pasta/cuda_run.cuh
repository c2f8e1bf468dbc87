// What the suite's runs on the device share: facts of a run, padded operands, launches of the
// paper's kernels that COO and HiCOO have in common.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/device/cuda.cuh"
#include "common/measure/method.hpp"
#include "common/measure/work.hpp"
#include "papers/pasta/kernels_cuda.cuh"
#include "papers/pasta/prepare.hpp"

namespace retensor::pasta {

inline constexpr unsigned kBlock = 256;  // threads a block, the paper's section V.A.2

inline cudaStream_t stream_of(const StageTimer& timer) {
  return static_cast<cudaStream_t>(timer.stream());
}

/// Elements between rows: whole 16-byte vectors.
template <class T>
unsigned padded(std::uint64_t rank) {
  constexpr unsigned kWidth = 16 / sizeof(T);
  return static_cast<unsigned>((rank + kWidth - 1) / kWidth * kWidth);
}

/// A dense operand with its rows padded by zeros.
template <class T>
device::Buffer<T> upload_padded(MatrixView<const T> m, unsigned stride) {
  std::vector<T> rows(m.rows * stride, T{0});
  for (std::uint64_t i = 0; i < m.rows; ++i) std::copy_n(m.row(i), m.cols, &rows[i * stride]);
  return device::Buffer<T>(rows);
}

template <class T>
void download_padded(const device::Buffer<T>& from, unsigned stride, std::uint64_t cols, T* to,
                     std::uint64_t ld) {
  const std::vector<T> rows = from.to_host();
  for (std::uint64_t i = 0; i * stride < rows.size(); ++i)
    std::copy_n(&rows[i * stride], cols, to + i * ld);
}

/// Elements padded by zeros to a multiple of 8: two 16-byte accesses of single precision.
template <class T>
device::Buffer<T> upload_padded_to_8(std::span<const T> elements) {
  device::Buffer<T> padded((elements.size() + 7) / 8 * 8);
  padded.zero(nullptr);
  padded.upload(elements);
  return padded;
}

/// Calls f<n>() for the number of gathered modes, f<0>() for four and more.
template <class F>
void with_others(int others, F&& f) {
  switch (others) {
    case 1:
      return f.template operator()<1>();
    case 2:
      return f.template operator()<2>();
    case 3:
      return f.template operator()<3>();
    default:
      return f.template operator()<0>();
  }
}

/// Base of the runs: the problem, the row's facts, the bytes on the device.
class CudaRun : public Prepared {
 public:
  CudaRun(const Problem& problem, std::string kernel) : problem_(problem) {
    executed_["kernel"] = std::move(kernel);
  }
  Executed executed() const override { return executed_; }
  Footprint footprint() const override { return {bytes_, bytes_}; }
  Work work() const override { return work_model(problem_); }

 protected:
  template <class... Buffers>
  void count_bytes(const Buffers&... buffers) {
    bytes_ += (Count{0} + ... + buffers.bytes());
  }

  const Problem& problem_;
  Executed executed_;
  Count bytes_ = 0;
};

/// TEW and TS: value arrays in, value array out. `x` and `y` (TS: empty) hold the operands in the
/// order of the format at hand.
template <class T>
class ElementwiseRun : public CudaRun {
 public:
  ElementwiseRun(const Problem& problem, const Coo& x, const Coo& y, std::string kernel)
      : CudaRun(problem, std::move(kernel)),
        op_(arithmetic(problem.spec().variant)),
        x_(x.values.template as<T>()) {
    if (binary()) {
      auto pattern = predict_pattern(x, y, op_);
      y_ = device::Buffer<T>(y.values.template as<T>());
      from_x_ = device::Buffer<Count>(pattern.from_x);
      from_y_ = device::Buffer<Count>(pattern.from_y);
      equal_ = pattern.equal();
      result_ = std::move(pattern.z);
    } else {
      result_ = x;
    }
    z_ = device::Buffer<T>(result_.nnz());
    executed_["pattern"] = equal_ ? "equal" : "general";
    count_bytes(x_, y_, z_, from_x_, from_y_);
  }

  void run(StageTimer& timer) override {
    timer.stage("kernel");
    if (z_.size() == 0) return;
    if (equal_)
      launch_equal(stream_of(timer));
    else
      RETENSOR_CUDA_LAUNCH(paper::tew_general<T>, device::blocks_for(z_.size(), kBlock), kBlock, 0,
                           stream_of(timer), op_, x_.data(), y_.data(), from_x_.data(),
                           from_y_.data(), z_.data(), z_.size());
  }

  Result result() override {
    z_.download(result_.values.template as<T>());
    return result_;
  }

 protected:
  virtual void launch_equal(cudaStream_t stream) {
    const unsigned grid = device::blocks_for(z_.size(), kBlock);
    if (binary())
      RETENSOR_CUDA_LAUNCH(paper::tew<T>, grid, kBlock, 0, stream, op_, x_.data(), y_.data(),
                           z_.data(), z_.size());
    else
      RETENSOR_CUDA_LAUNCH(paper::ts<T>, grid, kBlock, 0, stream, op_, x_.data(), scalar(),
                           z_.data(), z_.size());
  }

  bool binary() const { return problem_.operation() == Operation::tew; }
  T scalar() const { return static_cast<T>(problem_.spec().scalar); }

  const Arithmetic op_;
  device::Buffer<T> x_, y_, z_;

 private:
  Coo result_;
  device::Buffer<Count> from_x_, from_y_;
  bool equal_ = true;
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

/// Output and factors of MTTKRP with padded rows; the stages zero and kernel.
template <class T>
class MttkrpRun : public CudaRun {
 public:
  MttkrpRun(const Problem& problem, std::string kernel)
      : CudaRun(problem, std::move(kernel)),
        stride_(padded<T>(problem.rank())),
        out_(problem.x().dims[static_cast<std::size_t>(problem.mode())] * stride_) {
    for (int m = 0; m < problem.x().order(); ++m)
      if (m != problem.mode()) {
        const auto& u = problem.dense()[static_cast<std::size_t>(m)];
        factors_.push_back(upload_padded(u.template view<T>(), stride_));
        count_bytes(factors_.back());
      }
    count_bytes(out_);
  }

  void run(StageTimer& timer) override {
    timer.stage("zero");
    out_.zero(stream_of(timer));
    timer.stage("kernel");
    if (problem_.x().nnz() > 0) launch(stream_of(timer));
  }

  Result result() override {
    const auto mode = static_cast<std::size_t>(problem_.mode());
    Matrix m(problem_.x().dims[mode], problem_.rank(), problem_.dtype());
    const auto view = m.view<T>();
    download_padded(out_, stride_, problem_.rank(), view.data, view.ld);
    return m;
  }

 protected:
  virtual void launch(cudaStream_t stream) = 0;
  /// Modes that are gathered, ascending: factors_[k] belongs to gathered()[k].
  std::vector<std::size_t> gathered() const {
    std::vector<std::size_t> modes;
    for (std::size_t m = 0; m < problem_.x().dims.size(); ++m)
      if (m != static_cast<std::size_t>(problem_.mode())) modes.push_back(m);
    return modes;
  }

  const unsigned stride_;
  device::Buffer<T> out_;
  std::vector<device::Buffer<T>> factors_;
};

}  // namespace retensor::pasta
