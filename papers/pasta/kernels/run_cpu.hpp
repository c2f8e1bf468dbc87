// What the CPU runs of MTTKRP share: output zeroing, private copies.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "common/run/cpu_run.hpp"
#include "papers/pasta/kernels/mttkrp_cpu.hpp"
#include "papers/pasta/kernels/shared_cpu.hpp"

namespace retensor::pasta {

/// Base of the MTTKRP runs: the output, the private copies where the update asks for them, and the
/// stages zero, kernel, reduce.
template <class T>
class MttkrpRunBase : public CpuRun {
 public:
  MttkrpRunBase(const Problem& problem, int threads, std::string kernel, std::string update)
      : CpuRun(problem, threads, std::move(kernel)),
        update_(std::move(update)),
        out_(problem.x().dims[static_cast<std::size_t>(problem.mode())], problem.rank(),
             problem.dtype()),
        partial_(problem.dtype(), update_ == "private"
                                      ? static_cast<Count>(threads) * out_.rows() * out_.cols()
                                      : 0) {
    executed_["update"] = update_;
    format_bytes_ = out_.bytes() + partial_.bytes();
  }

  void run(StageTimer& timer) final {
    if (!overwrites()) {
      timer.stage("zero");
      zero(update_ == "private" ? partial_.template as<T>() : out_.values().template as<T>());
    }
    timer.stage("kernel");
    kernel(out_.template view<T>(), partial_.template as<T>());
    if (update_ != "private") return;
    timer.stage("reduce");
    reduce_partials<T>(std::as_const(partial_).template as<T>(), out_.template view<T>(), threads_);
  }

  Result result() final { return out_; }

 protected:
  virtual void kernel(MatrixView<T> out, std::span<T> partial) = 0;
  /// Whether the kernel writes every row of the output, so that it need not be zeroed before.
  virtual bool overwrites() const { return false; }
  const std::string update_;

 private:
  void zero(std::span<T> values) const {
    const auto n = static_cast<std::int64_t>(values.size());
    T* const at = values.data();
#pragma omp parallel for num_threads(threads_) schedule(static)
    for (std::int64_t i = 0; i < n; ++i) at[i] = T{0};
  }

  Matrix out_;
  Values partial_;
};

}  // namespace retensor::pasta
