// What the runs of this module on the device share: factors of every mode, the results of all modes
// one below the other, and the proof that the tensor is back in mode 0's order.
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "common/measure/cuda_run.cuh"
#include "papers/flycoo/methods.hpp"

namespace retensor::flycoo {

template <class T>
class AllModesRun : public CudaRun, public Passes {
 public:
  AllModesRun(const Problem& problem, std::string kernel)
      : CudaRun(problem, std::move(kernel)),
        stride_(padded<T>(problem.rank())),
        out_(total_rows(problem.x().dims) * stride_) {
    std::uint64_t first = 0;
    for (std::size_t m = 0; m < problem.x().dims.size(); ++m) {
      factors_.push_back(upload_padded(problem.dense()[m].template view<T>(), stride_));
      count_bytes(factors_.back());
      first_row_.push_back(first);
      first += problem.x().dims[m];
    }
    count_bytes(out_);
  }

  void run(StageTimer& timer) override {
    const auto stream = stream_of(timer);
    timer.stage("zero");
    out_.zero(stream);
    timer.stage("kernel");
    if (problem_.x().nnz() == 0) return;
    for (int m = 0; m < problem_.x().order(); ++m) take_pass(m, stream);
  }

  void run_mode(int mode, StageTimer& timer) override {
    const auto stream = stream_of(timer);
    timer.stage("zero");
    const auto at = static_cast<std::size_t>(mode);
    RETENSOR_CUDA_CHECK(
        cudaMemsetAsync(rows_of(mode), 0, problem_.x().dims[at] * stride_ * sizeof(T), stream));
    timer.stage("kernel");
    if (problem_.x().nnz() > 0) take_pass(mode, stream);
  }

  Matrix mode_result(int mode) override {
    const auto at = static_cast<std::size_t>(mode);
    Matrix one(problem_.x().dims[at], problem_.rank(), problem_.dtype());
    download_rows(out_, stride_, first_row_[at], one.view<T>());
    return one;
  }

  void refresh(int m) override {
    const auto at = static_cast<std::size_t>(m);
    factors_[at].upload(padded_rows(problem_.dense()[at].template view<T>(), stride_));
  }
  Passes* passes() override { return this; }

  Result result() override {
    check_finished();
    Matrix all(total_rows(problem_.x().dims), problem_.rank(), problem_.dtype());
    const auto view = all.view<T>();
    download_padded(out_, stride_, problem_.rank(), view.data, view.ld);
    return all;
  }

 protected:
  /// One mode's MTTKRP; the tensor moves on to the next mode's order.
  virtual void pass(int mode, cudaStream_t stream) = 0;
  /// Throws LogicError unless the last run left everything as it found it.
  virtual void check_finished() const {}

  unsigned rank() const { return static_cast<unsigned>(problem_.rank()); }
  T* rows_of(int mode) {
    return out_.data() + first_row_[static_cast<std::size_t>(mode)] * stride_;
  }
  /// Modes that the pass over `mode` gathers, ascending.
  std::vector<std::size_t> gathered(int mode) const {
    std::vector<std::size_t> modes;
    for (std::size_t m = 0; m < factors_.size(); ++m)
      if (m != static_cast<std::size_t>(mode)) modes.push_back(m);
    return modes;
  }

  const unsigned stride_;
  device::Buffer<T> out_;
  std::vector<device::Buffer<T>> factors_;

 private:
  void take_pass(int mode, cudaStream_t stream) {
    if (mode != next_)
      throw LogicError("a pass over mode " + std::to_string(mode) + ", but the tensor is in mode " +
                       std::to_string(next_) + "'s order");
    pass(mode, stream);
    next_ = (mode + 1) % problem_.x().order();
  }

  std::vector<std::uint64_t> first_row_;
  int next_ = 0;
};

/// Records on the device, padded by zeros for kernels that read whole 16 bytes.
inline device::Buffer<std::uint32_t> upload_records(std::span<const std::uint32_t> records) {
  device::Buffer<std::uint32_t> copy(records.size() + 4);
  copy.zero(nullptr);
  copy.upload(records);
  return copy;
}

/// The copies T_in and T_out of Algorithm 5.
class Copies {
 public:
  explicit Copies(std::span<const std::uint32_t> records)
      : start_(records), in_(upload_records(records)), out_(upload_records(records)) {}
  const std::uint32_t* in() const { return in_.data(); }
  std::uint32_t* out() { return out_.data(); }
  void swap() { std::swap(in_, out_); }
  Count bytes() const { return in_.bytes() + out_.bytes(); }
  void check_back() const {
    std::vector<std::uint32_t> now(start_.size());
    in_.download(now);
    if (!std::equal(now.begin(), now.end(), start_.begin()))
      throw LogicError("after the last mode the tensor is not in mode 0's order again");
  }

 private:
  std::span<const std::uint32_t> start_;  // the format's, on the host
  device::Buffer<std::uint32_t> in_, out_;
};

}  // namespace retensor::flycoo
