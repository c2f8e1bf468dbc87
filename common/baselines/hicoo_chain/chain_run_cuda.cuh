// What the runs of TTM-chain on the device share: factors and result in the layout of
// chain_tile_cuda.cuh, tiles of columns. Included by .cu files alone.
#pragma once

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>
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

/// Calls f<n>() for n from 0 to kCount - 1; nothing for any other.
template <int kCount, class F>
void with_constant(int n, F&& f) {
  [&]<int... kEach>(std::integer_sequence<int, kEach...>) {
    ((n == kEach ? f.template operator()<kEach>() : void()), ...);
  }
  (std::make_integer_sequence<int, kCount>());
}
/// Product modes before the last two, at most.
inline constexpr int kMostOuter = kMaxProducts - 2;

/// Modes of the factors, ascending.
inline std::vector<std::size_t> products_of(const Problem& problem) {
  std::vector<std::size_t> products(problem.x().dims.size());
  std::iota(products.begin(), products.end(), std::size_t{0});
  products.erase(products.begin() + problem.mode());
  return products;
}

/// Elements of a result row, columns of the last mode padded.
template <class T>
Count row_of(const Problem& problem) {
  const auto products = products_of(problem);
  Count row = padded<T>(problem.dense()[products.back()].cols());
  for (std::size_t k = 0; k + 1 < products.size(); ++k) row *= problem.dense()[products[k]].cols();
  return row;
}

template <class T>
class ChainRun : public CudaSumRun<T> {
 public:
  ChainRun(const Problem& problem, std::string kernel)
      : CudaSumRun<T>(problem, std::move(kernel), row_of<T>(problem)),
        products_(products_of(problem)) {
    for (std::size_t k = 0; k < products_.size(); ++k) {
      const auto columns = static_cast<unsigned>(factor(k).cols());
      x_.columns[k] = columns, x_.stride[k] = (columns + kTile - 1) / kTile * kTile;
      x_.last_stride = padded<T>(columns);
      factors_.push_back(upload_padded(factor(k).template view<T>(), x_.stride[k]));
      x_.factor[k] = factors_[k].data();
      this->count_bytes(factors_[k]);
    }
    x_.row_stride = row_of<T>(problem), x_.out = this->out_.data();
  }

  void refresh(int m) override {
    for (std::size_t k = 0; k < products_.size(); ++k)
      if (products_[k] == static_cast<std::size_t>(m))
        factors_[k].upload(padded_rows(factor(k).template view<T>(), x_.stride[k]));
  }

  Result result() override {
    Count width = 1;
    for (std::size_t k = 0; k < products_.size(); ++k) width *= x_.columns[k];
    Matrix m(this->rows(), width, this->problem_.dtype());
    // Columns of the last mode follow each other in the whole matrix.
    const unsigned last = x_.columns[products_.size() - 1];
    download_padded(this->out_, x_.last_stride, last, m.values().template as<T>().data(), last);
    return m;
  }

 protected:
  int outer() const { return static_cast<int>(products_.size()) - 2; }
  /// Tiles of columns, in blockIdx.y.
  unsigned tiles() const { return static_cast<unsigned>(tiles_of(this->problem_)); }

  const std::vector<std::size_t> products_;  // modes of the factors, ascending
  Operands<T> x_;

 private:
  const Matrix& factor(std::size_t k) const { return this->problem_.dense()[products_[k]]; }

  std::vector<device::Buffer<T>> factors_;
};

}  // namespace retensor::chain
