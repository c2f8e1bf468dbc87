// What runs on the device share: operands with padded rows, facts of a run, output and factors of
// MTTKRP. Included by .cu files alone.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/device/cuda.cuh"
#include "common/method/method.hpp"
#include "common/method/work.hpp"

namespace retensor {

inline cudaStream_t stream_of(const StageTimer& timer) {
  return static_cast<cudaStream_t>(timer.stream());
}

/// Elements between rows: whole 16-byte vectors.
template <class T>
unsigned padded(std::uint64_t rank) {
  constexpr unsigned kWidth = 16 / sizeof(T);
  return static_cast<unsigned>((rank + kWidth - 1) / kWidth * kWidth);
}

/// The rows of a dense operand, padded by zeros.
template <class T>
std::vector<T> padded_rows(MatrixView<const T> m, unsigned stride) {
  std::vector<T> rows(m.rows * stride, T{0});
  for (std::uint64_t i = 0; i < m.rows; ++i) std::copy_n(m.row(i), m.cols, &rows[i * stride]);
  return rows;
}

template <class T>
device::Buffer<T> upload_padded(MatrixView<const T> m, unsigned stride) {
  return device::Buffer<T>(padded_rows(m, stride));
}

template <class T>
void download_padded(const device::Buffer<T>& from, unsigned stride, std::uint64_t cols, T* to,
                     std::uint64_t ld) {
  const std::vector<T> rows = from.to_host();
  for (std::uint64_t i = 0; i * stride < rows.size(); ++i)
    std::copy_n(&rows[i * stride], cols, to + i * ld);
}

/// As many padded rows as `to` has, from row `first` on.
template <class T>
void download_rows(const device::Buffer<T>& from, unsigned stride, std::uint64_t first,
                   MatrixView<T> to) {
  std::vector<T> rows(to.rows * stride);
  from.download(rows, first * stride);
  for (std::uint64_t i = 0; i < to.rows; ++i) std::copy_n(&rows[i * stride], to.cols, to.row(i));
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

/// A Run<T> of the problem's type of values.
template <template <class> class Run, class... More>
std::unique_ptr<Prepared> make_typed_run(const Problem& problem, const More&... more) {
  return dispatch(problem.dtype(), [&]<class T>() -> std::unique_ptr<Prepared> {
    return std::make_unique<Run<T>>(problem, more...);
  });
}

/// A run that clears its output and adds to it: the stages zero and kernel.
template <class T>
class CudaSumRun : public CudaRun {
 public:
  /// A row of the output has `stride` elements.
  CudaSumRun(const Problem& problem, std::string kernel, Count stride)
      : CudaRun(problem, std::move(kernel)), out_(rows() * stride) {
    count_bytes(out_);
  }

  void run(StageTimer& timer) override {
    timer.stage("zero");
    out_.zero(stream_of(timer));
    timer.stage("kernel");
    if (problem_.x().nnz() > 0) launch(stream_of(timer));
  }

 protected:
  /// Not called for a tensor without nonzeros.
  virtual void launch(cudaStream_t stream) = 0;
  std::uint64_t rows() const {
    return problem_.x().dims[static_cast<std::size_t>(problem_.mode())];
  }

  device::Buffer<T> out_;
};

/// Output and factors of MTTKRP with padded rows.
template <class T>
class CudaMttkrpRun : public CudaSumRun<T> {
 public:
  CudaMttkrpRun(const Problem& problem, std::string kernel)
      : CudaSumRun<T>(problem, std::move(kernel), padded<T>(problem.rank())),
        stride_(padded<T>(problem.rank())) {
    for (const std::size_t m : gathered()) {
      factors_.push_back(upload_padded(problem.dense()[m].template view<T>(), stride_));
      this->count_bytes(factors_.back());
    }
  }

  void refresh(int m) override {
    const auto modes = gathered();
    const auto at = std::find(modes.begin(), modes.end(), static_cast<std::size_t>(m));
    if (at == modes.end()) return;
    const auto& u = problem_.dense()[*at];
    factors_[static_cast<std::size_t>(at - modes.begin())].upload(
        padded_rows(u.template view<T>(), stride_));
  }

  Result result() override {
    Matrix m(this->rows(), problem_.rank(), problem_.dtype());
    const auto view = m.view<T>();
    download_padded(this->out_, stride_, problem_.rank(), view.data, view.ld);
    return m;
  }

 protected:
  /// Modes that are gathered, ascending: factors_[k] belongs to gathered()[k].
  std::vector<std::size_t> gathered() const {
    std::vector<std::size_t> modes;
    for (std::size_t m = 0; m < problem_.x().dims.size(); ++m)
      if (m != static_cast<std::size_t>(problem_.mode())) modes.push_back(m);
    return modes;
  }

  /// The rows of a mode that is gathered.
  const T* factor(int mode) const {
    return factors_[static_cast<std::size_t>(mode < problem_.mode() ? mode : mode - 1)].data();
  }

  using CudaSumRun<T>::problem_;
  const unsigned stride_;
  std::vector<device::Buffer<T>> factors_;
};

}  // namespace retensor
