// The run of pasta.cpu.copies: the kernel of packed_cpu.hpp on a copy of the nonzeros for each
// mode.
#include "papers/pasta/kernels/prepare_cpu.hpp"

#include <vector>

#include "papers/pasta/kernels/modes_cpu.hpp"

namespace retensor::pasta {
namespace {

template <class T>
class CopiesRun final : public CpuModesRun<T> {
  using Base = CpuModesRun<T>;

 public:
  CopiesRun(const Problem& problem, int threads)
      : Base(problem, threads, "MTTKRP on packed rows, a copy for each mode") {
    for (int mode = 0; mode < this->order(); ++mode) {
      x_.push_back(to_packed_rows(problem.x(), mode));
      this->format_bytes_ += x_.back().bytes();
    }
  }

 private:
  void pass(int mode) override {
    const PackedRows& x = x_[static_cast<std::size_t>(mode)];
    PackedMttkrp<T> m;
    m.x = &x;
    for (std::size_t k = 0; k < x.others.size(); ++k) m.factor[k] = this->factor(x.others[k]);
    m.stride = this->stride_;
    m.out = this->out(mode);
    m.carry = this->carry_.data();
    m.shares = this->threads_;
    mttkrp_packed(m, this->vectors_);
  }

  std::vector<PackedRows> x_;  // by mode
};

}  // namespace

std::unique_ptr<Prepared> prepare_copies_cpu(const Problem& problem, const Params& params) {
  const int threads = thread_count(params);
  if (problem.dtype() == DType::f32) return std::make_unique<CopiesRun<float>>(problem, threads);
  return std::make_unique<CopiesRun<double>>(problem, threads);
}

}  // namespace retensor::pasta
