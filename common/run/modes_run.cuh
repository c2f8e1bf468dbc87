// Base of the runs on the device whose copy of the tensor serves several modes: they take MTTKRP of
// one mode and of all modes alike. Included by .cu files alone.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "common/run/cuda_run.cuh"
#include "common/tensor/operations.hpp"

namespace retensor {

/// [mode]: the others, ascending.
inline std::vector<std::vector<std::size_t>> other_modes(int order) {
  std::vector<std::vector<std::size_t>> others(static_cast<std::size_t>(order));
  for (std::size_t mode = 0; mode < others.size(); ++mode)
    for (std::size_t m = 0; m < others.size(); ++m)
      if (m != mode) others[mode].push_back(m);
  return others;
}

/// Passes over the problem's mode, or over all modes in turn. Factors and outputs have padded rows;
/// the outputs of the passes lie one below the other.
template <class T>
class CudaModesRun : public CudaRun, private Passes {
 public:
  CudaModesRun(const Problem& problem, std::string kernel)
      : CudaRun(problem, std::move(kernel)),
        stride_(padded<T>(problem.rank())),
        modes_(takes_all() ? natural_order(problem.x().order()) : std::vector{problem.mode()}),
        first_row_(problem.x().dims.size(), 0),
        others_(other_modes(problem.x().order())) {
    for (const int m : modes_) first_row_[at(m)] = std::exchange(rows_, rows_ + length(m));
    out_ = device::Buffer<T>(rows_ * stride_);
    count_bytes(out_);
    for (int m = 0; m < problem.x().order(); ++m) {
      factors_.push_back(is_gathered(m) ? device::Buffer<T>(host_factor(m)) : device::Buffer<T>());
      count_bytes(factors_.back());
    }
  }

  void run(StageTimer& timer) final { run_modes(modes_, timer); }
  Passes* passes() final { return takes_all() ? this : nullptr; }
  void refresh(int m) final {
    if (is_gathered(m)) factors_[at(m)].upload(host_factor(m));
  }
  Result result() override {
    Matrix all(rows_, problem_.rank(), problem_.dtype());
    download_rows(out_, stride_, 0, all.view<T>());
    return all;
  }

 protected:
  /// Consecutive passes: the stages zero, which clears their outputs, and kernel.
  virtual void run_modes(std::span<const int> modes, StageTimer& timer) {
    const auto stream = stream_of(timer);
    timer.stage("zero");
    Count bytes = 0;
    for (const int m : modes) bytes += length(m) * stride_ * sizeof(T);
    RETENSOR_CUDA_CHECK(cudaMemsetAsync(rows_of(modes.front()), 0, bytes, stream));
    timer.stage("kernel");
    if (problem_.x().nnz() == 0) return;
    for (const int m : modes) pass(m, stream);
  }
  /// Adds the MTTKRP of one mode to its output; not called for a tensor without nonzeros.
  virtual void pass(int mode, cudaStream_t stream) = 0;

  static std::size_t at(int mode) { return static_cast<std::size_t>(mode); }
  std::uint64_t length(int mode) const { return problem_.x().dims[at(mode)]; }
  unsigned rank() const { return static_cast<unsigned>(problem_.rank()); }
  /// The output of the pass over `mode`.
  T* rows_of(int mode) { return out_.data() + first_row_[at(mode)] * stride_; }
  /// Modes whose factors the pass over `mode` gathers, ascending.
  const std::vector<std::size_t>& gathered(int mode) const { return others_[at(mode)]; }

  const unsigned stride_;
  const std::vector<int> modes_;            // of the passes
  std::vector<device::Buffer<T>> factors_;  // of each mode that some pass gathers

 private:
  void run_mode(int mode, StageTimer& timer) final { run_modes({&mode, 1}, timer); }
  Matrix mode_result(int mode) final {
    Matrix one(length(mode), problem_.rank(), problem_.dtype());
    download_rows(out_, stride_, first_row_[at(mode)], one.view<T>());
    return one;
  }

  bool takes_all() const { return problem_.operation() == Operation::mttkrp_all; }
  bool is_gathered(int mode) const { return modes_.size() > 1 || modes_.front() != mode; }
  std::vector<T> host_factor(int mode) const {
    return padded_rows(problem_.dense()[at(mode)].template view<T>(), stride_);
  }

  std::vector<std::uint64_t> first_row_;  // of each mode's output
  const std::vector<std::vector<std::size_t>> others_;
  std::uint64_t rows_ = 0;
  device::Buffer<T> out_;
};

}  // namespace retensor
