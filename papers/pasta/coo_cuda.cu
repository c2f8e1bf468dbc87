// Runs of pasta.cuda.coo and pasta.cuda.tuned for the five operations: buffers, launches, fetches.
// The kernels stand in kernels_cuda.cuh, the methods in cuda_methods.cpp.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "common/device/cuda.cuh"
#include "papers/pasta/coo_cuda.hpp"
#include "papers/pasta/kernels_cuda.cuh"
#include "papers/pasta/prepare.hpp"

namespace retensor::pasta {
namespace {

using device::Buffer;

constexpr unsigned kBlock = 256;  // threads a block, the paper's section V.A.2
cudaStream_t stream_of(const StageTimer& timer) {
  return static_cast<cudaStream_t>(timer.stream());
}

// Elements between rows: whole 16-byte vectors.
template <class T>
unsigned padded(std::uint64_t rank) {
  constexpr unsigned kWidth = tuned::Vec<T>::kWidth;
  return static_cast<unsigned>((rank + kWidth - 1) / kWidth * kWidth);
}

// A dense operand with its rows padded by zeros.
template <class T>
Buffer<T> upload_padded(MatrixView<const T> m, unsigned stride) {
  std::vector<T> rows(m.rows * stride, T{0});
  for (std::uint64_t i = 0; i < m.rows; ++i) std::copy_n(m.row(i), m.cols, &rows[i * stride]);
  return Buffer<T>(rows);
}

template <class T>
void download_padded(const Buffer<T>& from, unsigned stride, std::uint64_t cols, T* to,
                     std::uint64_t ld) {
  const std::vector<T> rows = from.to_host();
  for (std::uint64_t i = 0; i * stride < rows.size(); ++i)
    std::copy_n(&rows[i * stride], cols, to + i * ld);
}

// Lanes that cover a row of `stride` elements 16 bytes each, a power of two up to a warp.
template <class T>
int lanes_for(unsigned stride) {
  int lanes = 4;  // as many as factor rows in flight
  while (lanes < 32 && static_cast<unsigned>(lanes) * tuned::Vec<T>::kWidth < stride) lanes *= 2;
  return lanes;
}

template <class F>
void with_lanes(int lanes, F&& f) {
  switch (lanes) {
    case 1:
      return f.template operator()<1>();
    case 2:
      return f.template operator()<2>();
    case 4:
      return f.template operator()<4>();
    case 8:
      return f.template operator()<8>();
    case 16:
      return f.template operator()<16>();
    default:
      return f.template operator()<32>();
  }
}

class CudaRun : public Prepared {
 public:
  CudaRun(const Problem& problem, Family family, const char* kernel)
      : problem_(problem), family_(family) {
    executed_["kernel"] = std::string(kernel) + (family == Family::paper ? "" : " tuned");
  }
  Executed executed() const override { return executed_; }
  Footprint footprint() const override { return {bytes_, bytes_}; }
  Work work() const override { return work_model(problem_); }

 protected:
  const Problem& problem_;
  const Family family_;
  Executed executed_;
  Count bytes_ = 0;
};

// TEW for equal patterns and TS: value arrays in, value array out.
template <class T>
class ElementwiseRun : public CudaRun {
 public:
  ElementwiseRun(const Problem& problem, Family family)
      : CudaRun(problem, family,
                problem.operation() == Operation::tew ? "COO-TEW-GPU" : "COO-TS-GPU"),
        op_(arithmetic(problem.spec().variant)),
        x_(problem.x().values.template as<T>()),
        z_(problem.x().nnz()) {
    if (problem.operation() == Operation::tew) y_ = Buffer<T>(problem.y().values.template as<T>());
    bytes_ = x_.bytes() + y_.bytes() + z_.bytes();
  }

  void run(StageTimer& timer) override {
    timer.stage("kernel");
    if (z_.size() == 0) return;
    if (problem_.operation() == Operation::tew)
      launch(stream_of(timer), tuned::TewElement<T>{op_, x_.data(), y_.data(), z_.data()});
    else
      launch(stream_of(timer), tuned::TsElement<T>{op_, x_.data(), scalar(), z_.data()});
  }

  Result result() override {
    Coo z = problem_.x();
    z_.download(z.values.as<T>());
    return z;
  }

 private:
  T scalar() const { return static_cast<T>(problem_.spec().scalar); }

  template <class Element>
  void launch(cudaStream_t stream, Element element) {
    const Count n = z_.size();
    if (family_ == Family::tuned) {
      const unsigned grid = device::blocks_for(n / tuned::Vec<T>::kWidth + 1, kBlock);
      RETENSOR_CUDA_LAUNCH((tuned::elementwise<T, Element>), grid, kBlock, 0, stream, element, n);
    } else if (problem_.operation() == Operation::tew) {
      RETENSOR_CUDA_LAUNCH(paper::tew<T>, device::blocks_for(n, kBlock), kBlock, 0, stream, op_,
                           x_.data(), y_.data(), z_.data(), n);
    } else {
      RETENSOR_CUDA_LAUNCH(paper::ts<T>, device::blocks_for(n, kBlock), kBlock, 0, stream, op_,
                           x_.data(), scalar(), z_.data(), n);
    }
  }

  const Arithmetic op_;
  Buffer<T> x_, y_, z_;
};

template <class T>
class FiberRun : public CudaRun {
 public:
  FiberRun(const Problem& problem, Family family)
      : CudaRun(problem, family,
                problem.operation() == Operation::ttv ? "COO-TTV-GPU" : "COO-TTM-GPU"),
        fibers_(fiber_arrays(problem.x(), problem.mode())),
        start_(fibers_.start),
        index_(fibers_.index),
        value_(std::as_const(fibers_.value).template as<T>()) {
    const auto u = problem.dense()[0].view<T>();
    x_.rank = static_cast<unsigned>(u.cols);
    x_.stride = ttv() ? 1 : padded<T>(u.cols);
    factor_ = upload_padded(u, x_.stride);
    out_ = Buffer<T>(fibers_.fibers() * x_.stride);
    out_.zero(nullptr);  // the padding of rows is copied back with them
    x_.start = start_.data(), x_.index = index_.data(), x_.value = value_.data();
    x_.factor = factor_.data(), x_.out = out_.data();
    x_.fibers = fibers_.fibers();
    lanes_ = ttv() ? lanes_for_fibers() : lanes_for<T>(x_.stride);
    executed_["lanes"] = std::to_string(lanes_);
    executed_["input"] = fibers_.was_sorted ? "sorted" : "sorted by prepare";
    bytes_ = start_.bytes() + index_.bytes() + value_.bytes() + factor_.bytes() + out_.bytes();
  }

  void run(StageTimer& timer) override {
    timer.stage("kernel");
    if (x_.fibers == 0) return;
    if (family_ == Family::paper)
      run_paper(stream_of(timer));
    else
      with_lanes(lanes_, [&]<int kLanes>() { run_tuned<kLanes>(stream_of(timer)); });
  }

  Result result() override {
    Values y(problem_.dtype(), fibers_.fibers() * x_.rank);
    download_padded(out_, x_.stride, x_.rank, y.as<T>().data(), x_.rank);
    const Dims& dims = problem_.x().dims;
    if (ttv()) return ttv_result(dims, problem_.mode(), fibers_.coordinates, std::move(y));
    return ttm_result(dims, problem_.mode(), x_.rank, fibers_.coordinates, std::move(y));
  }

 private:
  bool ttv() const { return problem_.operation() == Operation::ttv; }

  // The largest power of two that the mean fiber still fills.
  int lanes_for_fibers() const {
    const Count mean = fibers_.index.size() / std::max<Count>(1, fibers_.fibers());
    int lanes = 1;
    while (lanes < 32 && static_cast<Count>(lanes) * 2 <= mean) lanes *= 2;
    return lanes;
  }

  void run_paper(cudaStream_t stream) {
    if (ttv()) {
      RETENSOR_CUDA_LAUNCH(paper::ttv<T>, device::blocks_for(x_.fibers, kBlock), kBlock, 0, stream,
                           x_);
      return;
    }
    const unsigned across = std::min(x_.rank, 16u);
    const dim3 block(across, kBlock / across);
    RETENSOR_CUDA_LAUNCH(paper::ttm<T>, device::blocks_for(x_.fibers, block.y), block, 0, stream,
                         x_);
  }

  template <int kLanes>
  void run_tuned(cudaStream_t stream) {
    dim3 grid(device::blocks_for(x_.fibers * kLanes, kBlock));
    if (ttv()) {
      RETENSOR_CUDA_LAUNCH((tuned::ttv<T, kLanes>), grid, kBlock, 0, stream, x_);
      return;
    }
    grid.y = (x_.stride + kLanes * tuned::Vec<T>::kWidth - 1) / (kLanes * tuned::Vec<T>::kWidth);
    RETENSOR_CUDA_LAUNCH((tuned::ttm<T, kLanes>), grid, kBlock, 0, stream, x_);
  }

  FiberArrays fibers_;
  Buffer<Count> start_;
  Buffer<Index> index_;
  Buffer<T> value_, factor_, out_;
  DeviceFibers<T> x_;
  int lanes_ = 1;
};

template <class T>
class MttkrpRun : public CudaRun {
 public:
  MttkrpRun(const Problem& problem, Family family, unsigned chunk)
      : CudaRun(problem, family, "COO-MTTKRP-GPU"),
        value_(problem.x().values.template as<T>()),
        chunk_(chunk) {
    const Coo& x = problem.x();
    const auto mode = static_cast<std::size_t>(problem.mode());
    d_.rank = static_cast<unsigned>(problem.rank());
    d_.stride = padded<T>(problem.rank());
    d_.nnz = x.nnz();
    out_ = Buffer<T>(x.dims[mode] * d_.stride);
    for (std::size_t m = 0; m < x.indices.size(); ++m) {
      indices_.emplace_back(x.indices[m]);
      if (m == mode) {
        d_.row = indices_.back().data();
        continue;
      }
      factors_.push_back(upload_padded(problem.dense()[m].template view<T>(), d_.stride));
      d_.other[d_.others] = indices_.back().data();
      d_.factor[d_.others++] = factors_.back().data();
    }
    d_.value = value_.data();
    d_.out = out_.data();
    bytes_ = value_.bytes() + out_.bytes();
    for (const auto& b : indices_) bytes_ += b.bytes();
    for (const auto& b : factors_) bytes_ += b.bytes();
    if (family == Family::tuned) executed_["chunk"] = std::to_string(chunk);
  }

  void run(StageTimer& timer) override {
    const cudaStream_t stream = stream_of(timer);
    timer.stage("zero");
    out_.zero(stream);
    timer.stage("kernel");
    if (d_.nnz == 0) return;
    if (family_ == Family::paper)
      run_paper(stream);
    else
      with_lanes(lanes_for<T>(d_.stride), [&]<int kLanes>() { run_tuned<kLanes>(stream); });
  }

  Result result() override {
    Matrix m(problem_.x().dims[static_cast<std::size_t>(problem_.mode())], d_.rank,
             problem_.dtype());
    const auto view = m.view<T>();
    download_padded(out_, d_.stride, d_.rank, view.data, view.ld);
    return m;
  }

 private:
  void run_paper(cudaStream_t stream) {
    const dim3 block(16, 16);
    // One nonzero a thread row, up to the grid's limit; the kernel strides over the rest.
    RETENSOR_CUDA_LAUNCH(paper::mttkrp<T>, device::blocks_for(d_.nnz, block.y, 1u << 20), block, 0,
                         stream, d_);
  }

  template <int kLanes>
  void run_tuned(cudaStream_t stream) {
    constexpr unsigned kColumns = kLanes * tuned::Vec<T>::kWidth;
    const Count groups = (d_.nnz + chunk_ - 1) / chunk_;
    const dim3 grid(device::blocks_for(groups * kLanes, kBlock),
                    (d_.stride + kColumns - 1) / kColumns);
    switch (d_.others) {
      case 2:
        RETENSOR_CUDA_LAUNCH((tuned::mttkrp<T, kLanes, 2>), grid, kBlock, 0, stream, d_, chunk_);
        break;
      case 3:
        RETENSOR_CUDA_LAUNCH((tuned::mttkrp<T, kLanes, 3>), grid, kBlock, 0, stream, d_, chunk_);
        break;
      default:
        RETENSOR_CUDA_LAUNCH((tuned::mttkrp<T, kLanes, 0>), grid, kBlock, 0, stream, d_, chunk_);
    }
  }

  std::vector<Buffer<Index>> indices_;
  std::vector<Buffer<T>> factors_;
  Buffer<T> value_, out_;
  DeviceMttkrp<T> d_;
  const unsigned chunk_;
};

}  // namespace

std::unique_ptr<Prepared> prepare_coo_cuda(const Problem& problem, Family family, unsigned chunk) {
  return dispatch(problem.dtype(), [&]<class T>() -> std::unique_ptr<Prepared> {
    switch (problem.operation()) {
      case Operation::tew:
      case Operation::ts:
        return std::make_unique<ElementwiseRun<T>>(problem, family);
      case Operation::ttv:
      case Operation::ttm:
        return std::make_unique<FiberRun<T>>(problem, family);
      default:
        return std::make_unique<MttkrpRun<T>>(problem, family, chunk);
    }
  });
}

}  // namespace retensor::pasta
