#include "papers/pasta/kernels/copies_cpu.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

#include "common/run/cpu_run.hpp"
#include "common/run/kept_results.hpp"
#include "papers/pasta/kernels/packed_cpu.hpp"

namespace retensor::pasta {
namespace {

class CopiesRun final : public CpuRun, private Passes, public KeptResults {
 public:
  CopiesRun(const Problem& problem, int threads)
      : CpuRun(problem, threads, "MTTKRP on packed rows, a copy for each mode"),
        vectors_(widest_vectors()),
        stride_((problem.rank() + kVectorFloats - 1) / kVectorFloats * kVectorFloats),
        padded_(problem.dense().size()),
        carry_(static_cast<std::size_t>(threads) * stride_, 0) {
    const auto order = static_cast<int>(problem.dense().size());
    for (int mode = 0; mode < order; ++mode) {
      x_.push_back(to_packed_rows(problem.x(), mode));
      out_.emplace_back(problem.x().dims[static_cast<std::size_t>(mode)], problem.rank(),
                        DType::f32, stride_);
      CopiesRun::refresh(mode);
      format_bytes_ += x_.back().bytes() + out_.back().bytes();
    }
    executed_["vectors"] = vectors_ == Vectors::avx512 ? "512 bits" : "as compiled";
  }

  void run(StageTimer& timer) override {
    for (std::size_t mode = 0; mode < x_.size(); ++mode) run_mode(static_cast<int>(mode), timer);
  }

  void refresh(int mode) override {
    if (!pads()) return;
    const auto at = static_cast<std::size_t>(mode);
    const auto from = problem_.dense()[at].view<float>();
    padded_[at].resize(from.rows * stride_, 0);
    for (Count i = 0; i < from.rows; ++i)
      std::copy_n(from.row(i), from.cols, &padded_[at][i * stride_]);
  }

  Result result() override {
    const Dims& dims = problem_.x().dims;
    Matrix all(std::accumulate(dims.begin(), dims.end(), std::uint64_t{0}), problem_.rank(),
               DType::f32);
    float* to = all.view<float>().data;
    for (const Matrix& one : out_) to = copy_rows(one, to);
    return all;
  }

  Passes* passes() override { return this; }
  const Matrix& kept_result(int mode) const override {
    return out_[static_cast<std::size_t>(mode)];
  }

 private:
  bool pads() const { return problem_.rank() != stride_; }

  void run_mode(int mode, StageTimer& timer) override {
    timer.stage("kernel");
    const auto at = static_cast<std::size_t>(mode);
    const PackedRows& x = x_[at];
    if (x.nnz() == 0) return;
    PackedMttkrp m;
    m.x = &x;
    for (std::size_t k = 0; k < x.others.size(); ++k) {
      const auto other = static_cast<std::size_t>(x.others[k]);
      m.factor[k] = pads() ? padded_[other].data() : problem_.dense()[other].view<float>().data;
    }
    m.stride = stride_;
    m.out = out_[at].view<float>().data;
    m.carry = carry_.data();
    m.shares = threads_;
    mttkrp_packed(m, vectors_);
  }

  Matrix mode_result(int mode) override {
    const Matrix& kept = kept_result(mode);
    Matrix matrix(kept.rows(), kept.cols(), DType::f32);
    copy_rows(kept, matrix.view<float>().data);
    return matrix;
  }

  /// To rows without padding; returns where the next would begin.
  static float* copy_rows(const Matrix& from, float* to) {
    const auto rows = from.view<float>();
    for (Count i = 0; i < rows.rows; ++i) to = std::copy_n(rows.row(i), rows.cols, to);
    return to;
  }

  const Vectors vectors_;
  const std::size_t stride_;
  std::vector<PackedRows> x_;         // by mode, as all below
  std::vector<Matrix> out_;           // padded to the stride
  std::vector<Array<float>> padded_;  // factors, where they need it
  Array<float> carry_;
};

}  // namespace

std::unique_ptr<Prepared> prepare_copies_cpu(const Problem& problem, const Params& params) {
  return std::make_unique<CopiesRun>(problem, thread_count(params));
}

}  // namespace retensor::pasta
