// What the runs of TTM-chain on the device share: factors and result in the layout of
// chain_tile_cuda.cuh, stages, tiles of columns. Included by .cu files alone.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "common/baselines/hicoo_chain/chain_tile_cuda.cuh"
#include "common/device/device.hpp"
#include "common/run/cuda_run.cuh"

namespace retensor::chain {

/// Threads of a multiprocessor that a kernel's registers allow.
inline constexpr Count kThreadsPerSm = 640;

/// Consecutive items that a group takes: `longest`, or fewer where that would leave the device
/// idle, at least 1.
inline unsigned items_per_group(Count items, Count tiles, Count longest) {
  const Count groups = kThreadsPerSm / kLanes * static_cast<Count>(device::facts().sms);
  return static_cast<unsigned>(std::clamp<Count>(items * tiles / groups, 1, longest));
}

/// Calls f<n>() for n = 0 to 2 outer modes.
template <class F>
void with_outer(int outer, F&& f) {
  if (outer == 0) return f.template operator()<0>();
  if (outer == 1) return f.template operator()<1>();
  return f.template operator()<2>();
}

template <class T>
class ChainRun : public CudaRun {
 public:
  ChainRun(const Problem& problem, std::string kernel) : CudaRun(problem, std::move(kernel)) {
    for (int m = 0; m < problem.x().order(); ++m)
      if (m != problem.mode()) products_.push_back(static_cast<std::size_t>(m));
    Count row = 1;
    for (std::size_t k = 0; k < products_.size(); ++k) {
      const auto columns = static_cast<unsigned>(factor(k).cols());
      x_.columns[k] = columns, x_.stride[k] = (columns + kTile - 1) / kTile * kTile;
      x_.last_stride = padded<T>(columns);
      row *= k + 1 < products_.size() ? columns : x_.last_stride;
      factors_.emplace_back(host_factor(k));
      x_.factor[k] = factors_[k].data();
      count_bytes(factors_[k]);
    }
    out_ = device::Buffer<T>(problem.x().dims[static_cast<std::size_t>(problem.mode())] * row);
    x_.row_stride = row, x_.out = out_.data();
    count_bytes(out_);
  }

  void run(StageTimer& timer) override {
    timer.stage("zero");
    out_.zero(stream_of(timer));
    timer.stage("kernel");
    if (problem_.x().nnz() > 0) launch(stream_of(timer));
  }

  void refresh(int m) override {
    const auto at = std::find(products_.begin(), products_.end(), static_cast<std::size_t>(m));
    if (at == products_.end()) return;
    const auto k = static_cast<std::size_t>(at - products_.begin());
    factors_[k].upload(host_factor(k));
  }

  Result result() override {
    Count width = 1;
    for (std::size_t k = 0; k < products_.size(); ++k) width *= x_.columns[k];
    Matrix m(problem_.x().dims[static_cast<std::size_t>(problem_.mode())], width, problem_.dtype());
    // Columns of the last mode follow each other in the whole matrix.
    const unsigned last = x_.columns[products_.size() - 1];
    download_padded(out_, x_.last_stride, last, m.values().template as<T>().data(), last);
    return m;
  }

 protected:
  virtual void launch(cudaStream_t stream) = 0;

  int outer() const { return static_cast<int>(products_.size()) - 2; }
  /// Tiles of columns, in blockIdx.y.
  unsigned tiles() const { return static_cast<unsigned>(tiles_of(problem_)); }

  std::vector<std::size_t> products_;  // modes of the factors, ascending
  Operands<T> x_;

 private:
  const Matrix& factor(std::size_t k) const { return problem_.dense()[products_[k]]; }
  std::vector<T> host_factor(std::size_t k) const {
    return padded_rows(factor(k).template view<T>(), x_.stride[k]);
  }

  std::vector<device::Buffer<T>> factors_;
  device::Buffer<T> out_;
};

}  // namespace retensor::chain
