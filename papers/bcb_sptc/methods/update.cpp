#include "papers/bcb_sptc/methods/update.hpp"

#include <algorithm>
#include <utility>
#include <variant>

namespace retensor::bcb_sptc {
namespace {

/// The timer of a run that nobody times, on the default stream of a device.
class NoTimer : public StageTimer {
 public:
  void start() override {}
  void stage(std::string_view) override {}
  StageTimes stop() override { return {}; }
};

std::shared_ptr<const Coo> borrowed(const Coo& tensor) {
  return {std::shared_ptr<const Coo>(), &tensor};
}

/// Nonzeros `first` to last - 1.
std::shared_ptr<const Coo> part(const Coo& tensor, Count first, Count last) {
  auto some = std::make_shared<Coo>(tensor.dims, tensor.dtype(), last - first);
  for (std::size_t m = 0; m < tensor.dims.size(); ++m)
    std::copy_n(tensor.indices[m].begin() + static_cast<std::ptrdiff_t>(first), last - first,
                some->indices[m].begin());
  for (Count p = first; p < last; ++p) some->values.set(p - first, tensor.values.at(p));
  return some;
}

/// The contraction of `problem` with other nonzeros of X and another alpha.
Problem with_x(const Problem& problem, std::shared_ptr<const Coo> x, double alpha) {
  ProblemSpec spec = problem.spec();
  spec.values = ValueModel::stored;  // they were drawn before
  spec.alpha = alpha;
  return {spec, std::move(x), borrowed(problem.y())};
}

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
        first_(with_x(problem, part(problem.x(), 0, half_), problem.spec().alpha)),
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
    const Problem second =
        with_x(problem, part(problem.x(), half_, problem.x().nnz()), problem.spec().alpha / beta);
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
