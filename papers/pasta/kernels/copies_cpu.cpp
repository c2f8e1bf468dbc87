// The run of pasta.cpu.copies: the kernel of packed_cpu.hpp on a copy of the nonzeros for each
// mode.
#include "papers/pasta/kernels/prepare_cpu.hpp"

#include <vector>

#include "papers/pasta/kernels/modes_cpu.hpp"

namespace retensor::pasta {
namespace {

class CopiesRun final : public CpuModesRun {
 public:
  CopiesRun(const Problem& problem, int threads)
      : CpuModesRun(problem, threads, "MTTKRP on packed rows, a copy for each mode") {
    for (int mode = 0; mode < order(); ++mode) {
      x_.push_back(to_packed_rows(problem.x(), mode));
      format_bytes_ += x_.back().bytes();
    }
  }

 private:
  void pass(int mode) override {
    const PackedRows& x = x_[static_cast<std::size_t>(mode)];
    PackedMttkrp m;
    m.x = &x;
    for (std::size_t k = 0; k < x.others.size(); ++k) m.factor[k] = factor(x.others[k]);
    m.stride = stride_;
    m.out = out(mode);
    m.carry = carry_.data();
    m.shares = threads_;
    mttkrp_packed(m, vectors_);
  }

  std::vector<PackedRows> x_;  // by mode
};

}  // namespace

std::unique_ptr<Prepared> prepare_copies_cpu(const Problem& problem, const Params& params) {
  return std::make_unique<CopiesRun>(problem, thread_count(params));
}

}  // namespace retensor::pasta
