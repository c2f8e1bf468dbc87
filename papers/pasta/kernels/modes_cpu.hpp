// MTTKRP over all modes on the host, of kernels whose rows are padded to whole vectors. Factors are
// read where the problem has them unless their rows need padding, and results stay where they were
// written: a pass allocates and copies nothing.
#pragma once

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "common/run/all_modes.hpp"
#include "common/run/cpu_run.hpp"
#include "papers/pasta/kernels/packed_cpu.hpp"

namespace retensor::pasta {

template <class T>
class CpuModesRun : public CpuRun, private Passes, public KeptResults {
 public:
  CpuModesRun(const Problem& problem, int threads, std::string kernel)
      : CpuRun(problem, threads, std::move(kernel)),
        vectors_(widest_vectors()),
        stride_(padded_stride<T>(problem.rank())),
        padded_(problem.dense().size()),
        carry_(static_cast<std::size_t>(threads) * stride_, 0) {
    for (int mode = 0; mode < order(); ++mode) {
      out_.emplace_back(problem.x().dims[static_cast<std::size_t>(mode)], problem.rank(),
                        problem.dtype(), stride_);
      CpuModesRun::refresh(mode);
      format_bytes_ += out_.back().bytes();
    }
    executed_["vectors"] = vectors_ == Vectors::avx512 ? "512 bits" : "as compiled";
  }

  void run(StageTimer& timer) override {
    for (int mode = 0; mode < order(); ++mode) run_mode(mode, timer);
  }

  void refresh(int mode) override {
    if (!pads()) return;
    const auto at = static_cast<std::size_t>(mode);
    const auto from = problem_.dense()[at].template view<T>();
    padded_[at].resize(from.rows * stride_, 0);
    for (Count i = 0; i < from.rows; ++i)
      std::copy_n(from.row(i), from.cols, &padded_[at][i * stride_]);
  }

  Result result() override {
    const Dims& dims = problem_.x().dims;
    Matrix all(std::accumulate(dims.begin(), dims.end(), std::uint64_t{0}), problem_.rank(),
               problem_.dtype());
    T* to = all.view<T>().data;
    for (const Matrix& one : out_) to = copy_rows(one, to);
    return all;
  }

  Passes* passes() override { return this; }
  const Matrix& kept_result(int mode) const override {
    return out_[static_cast<std::size_t>(mode)];
  }

 protected:
  /// Overwrites the rows of the mode that have nonzeros; the others are zero.
  virtual void pass(int mode) = 0;

  int order() const { return problem_.x().order(); }
  const T* factor(int mode) const {
    const auto at = static_cast<std::size_t>(mode);
    return pads() ? padded_[at].data() : problem_.dense()[at].template view<T>().data;
  }
  T* out(int mode) { return out_[static_cast<std::size_t>(mode)].view<T>().data; }

  const Vectors vectors_;
  const std::size_t stride_;  // of rows, a multiple of kVectorOf<T>

 private:
  bool pads() const { return problem_.rank() != stride_; }

  void run_mode(int mode, StageTimer& timer) override {
    timer.stage("kernel");
    if (problem_.x().nnz() > 0) pass(mode);
  }

  Matrix mode_result(int mode) override {
    const Matrix& kept = kept_result(mode);
    Matrix matrix(kept.rows(), kept.cols(), kept.dtype());
    copy_rows(kept, matrix.view<T>().data);
    return matrix;
  }

  /// To rows without padding; returns where the next would begin.
  static T* copy_rows(const Matrix& from, T* to) {
    const auto rows = from.view<T>();
    for (Count i = 0; i < rows.rows; ++i) to = std::copy_n(rows.row(i), rows.cols, to);
    return to;
  }

  std::vector<Matrix> out_;       // by mode, padded to the stride
  std::vector<Array<T>> padded_;  // factors, where they need it

 protected:
  Array<T> carry_;  // a row a thread
};

}  // namespace retensor::pasta
