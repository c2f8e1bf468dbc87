#include "papers/bcb_sptc/methods/update.hpp"

#include <variant>

#include "papers/bcb_sptc/methods/parts.hpp"

namespace retensor::bcb_sptc {
namespace {

Coo result_of(const Problem& problem, const Addend& addend, const PrepareSum& prepare) {
  const auto prepared = prepare(problem, addend);
  NoTimer timer;
  prepared->run(timer);
  return std::get<Coo>(prepared->result());
}

/// Owns what the run of an update works on.
class UpdateRun : public Prepared {
 public:
  UpdateRun(const Problem& problem, double beta, const PrepareSum& prepare)
      : half_(problem.x().nnz() / 2),
        first_(with_operands(problem, part(problem.x(), 0, half_), borrowed(problem.y()),
                             problem.spec().alpha)),
        addend_{beta, rest(problem, beta, prepare)},
        run_(prepare(first_, addend_)) {}

  void run(StageTimer& timer) override { run_->run(timer); }
  Result result() override { return run_->result(); }
  Executed executed() const override { return run_->executed(); }
  Footprint footprint() const override { return run_->footprint(); }
  Work work() const override { return run_->work(); }

 private:
  /// Z: what the other nonzeros contribute, over beta.
  Coo rest(const Problem& problem, double beta, const PrepareSum& prepare) const {
    const Problem second = with_operands(problem, part(problem.x(), half_, problem.x().nnz()),
                                         borrowed(problem.y()), problem.spec().alpha / beta);
    return result_of(second, {}, prepare);
  }

  const Count half_;
  const Problem first_;
  const Addend addend_;
  const std::unique_ptr<Prepared> run_;
};

}  // namespace

std::unique_ptr<Prepared> prepare_update(const Problem& problem, double beta,
                                         const PrepareSum& prepare) {
  return std::make_unique<UpdateRun>(problem, beta, prepare);
}

Coo contract(const std::string& einsum, double alpha, const Coo& x, const Coo& y,
             const Addend& addend, const PrepareSum& prepare) {
  ProblemSpec spec;
  spec.operation = Operation::contraction;
  spec.variant = einsum;
  spec.alpha = alpha;
  const Problem problem(spec, borrowed(x), borrowed(y));
  return result_of(problem, addend, prepare);
}

}  // namespace retensor::bcb_sptc
