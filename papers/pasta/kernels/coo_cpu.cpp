// pasta.cpu.coo: TEW, TS, TTV, TTM and MTTKRP on coordinates (PASTA section III.B.1).
//
// Pre-processing as the paper has it: TEW predicts the pattern of the result, TTV and TTM sort a
// copy so that fibers of the product mode are contiguous and allocate the result by the
// sparse-dense property; MTTKRP allocates alone. All of it happens in prepare.
#include <string>
#include <utility>

#include "common/tensor/operations.hpp"
#include "papers/pasta/format/fibers.hpp"
#include "papers/pasta/format/patterns.hpp"
#include "papers/pasta/format/segments.hpp"
#include "papers/pasta/kernels/prepare_cpu.hpp"
#include "papers/pasta/kernels/run_cpu.hpp"

namespace retensor::pasta {
namespace {

template <class T>
class TewRun : public CpuRun {
 public:
  TewRun(const Problem& problem, int threads)
      : CpuRun(problem, threads, "COO-TEW-OMP"),
        op_(arithmetic(problem.spec().variant)),
        pattern_(predict_pattern(problem.x(), problem.y(), op_)),
        how_(store_for(3 * pattern_.z.values.bytes())) {
    executed_["pattern"] = pattern_.equal() ? "equal" : "general";
    format_bytes_ =
        pattern_.z.bytes() + (pattern_.from_x.size() + pattern_.from_y.size()) * sizeof(Count);
  }

  void run(StageTimer& timer) override {
    timer.stage("kernel");
    const auto x = problem_.x().values.template as<T>();
    const auto y = problem_.y().values.template as<T>();
    const auto z = pattern_.z.values.template as<T>();
    if (pattern_.equal())
      tew<T>(op_, x, y, z, how_, threads_);
    else
      tew_general<T>(op_, x, y, pattern_.from_x, pattern_.from_y, z, threads_);
  }

  Result result() override { return pattern_.z; }

 private:
  const Arithmetic op_;
  TewPattern pattern_;
  const Store how_;
};

template <class T>
class TsRun : public CpuRun {
 public:
  TsRun(const Problem& problem, int threads)
      : CpuRun(problem, threads, "COO-TS-OMP"),
        op_(arithmetic(problem.spec().variant)),
        z_(problem.x()),
        how_(store_for(2 * z_.values.bytes())) {
    format_bytes_ = z_.bytes();
  }

  void run(StageTimer& timer) override {
    timer.stage("kernel");
    ts<T>(op_, problem_.x().values.template as<T>(), static_cast<T>(problem_.spec().scalar),
          z_.values.template as<T>(), how_, threads_);
  }

  Result result() override { return z_; }

 private:
  const Arithmetic op_;
  Coo z_;
  const Store how_;
};

// TTV and TTM: a copy of x sorted by fibers of the product mode, and one output per fiber.
template <class T>
class FiberRun : public CpuRun {
 public:
  FiberRun(const Problem& problem, int threads)
      : CpuRun(problem, threads,
               problem.operation() == Operation::ttv ? "COO-TTV-OMP" : "COO-TTM-OMP"),
        u_(problem.dense()[0].view<T>()),
        fibers_(fiber_arrays(problem.x(), problem.mode())),
        last_(fiber_ends(fibers_.start)),
        y_(problem.dtype(), fibers_.fibers() * u_.cols),
        how_(store_for(y_.bytes())) {
    executed_["input"] = fibers_.was_sorted ? "sorted" : "sorted by prepare";
    format_bytes_ = fibers_.bytes() + last_.size() + y_.bytes();
  }

  void run(StageTimer& timer) override {
    timer.stage("kernel");
    const Fibers<T> x{fibers_.start, fibers_.index, last_,
                      std::as_const(fibers_.value).template as<T>()};
    if (problem_.operation() == Operation::ttv)
      ttv<T>(x, u_, y_.as<T>(), threads_);
    else
      ttm<T>(x, u_, y_.as<T>(), how_, threads_);
  }

  Result result() override {
    const Dims& dims = problem_.x().dims;
    if (problem_.operation() == Operation::ttv)
      return ttv_result(dims, problem_.mode(), fibers_.coordinates, y_);
    return ttm_result(dims, problem_.mode(), u_.cols, fibers_.coordinates, y_);
  }

 private:
  MatrixView<const T> u_;
  FiberArrays fibers_;
  std::vector<std::uint8_t> last_;
  Values y_;
  const Store how_;
};

template <class T>
class MttkrpRun : public MttkrpRunBase<T> {
 public:
  MttkrpRun(const Problem& problem, int threads, const std::string& update)
      : MttkrpRunBase<T>(problem, threads, "COO-MTTKRP-OMP", update) {
    const Coo* x = &problem.x();
    const Count rank = problem.rank();
    if (update == "owner") {
      sorted_ = *x;
      const int row_mode[] = {problem.mode()};
      sort_nonzeros(sorted_, row_mode);
      x = &sorted_;
      run_start_ = run_starts(sorted_.indices[static_cast<std::size_t>(problem.mode())]);
      carry_ = Matrix(static_cast<Count>(threads), rank, problem.dtype());
      this->format_bytes_ += sorted_.bytes() + run_start_.size() * sizeof(Count) + carry_.bytes();
    }
    if (update == "sequential") product_ = Values(problem.dtype(), rank);
    const auto mode = static_cast<std::size_t>(problem.mode());
    input_.row = x->indices[mode];
    input_.value = x->values.template as<T>();
    for (std::size_t m = 0; m < x->indices.size(); ++m) {
      if (m == mode) continue;
      input_.other.emplace_back(x->indices[m]);
      input_.factor.push_back(problem.dense()[m].template view<T>());
    }
  }

 private:
  bool overwrites() const override { return this->update_ == "owner"; }

  void kernel(MatrixView<T> out, std::span<T> partial) override {
    if (this->update_ == "sequential")
      mttkrp_sequential<T>(input_, out, product_.template as<T>());
    else if (this->update_ == "atomic")
      mttkrp_atomic<T>(input_, out, this->threads_);
    else if (this->update_ == "owner")
      mttkrp_owner<T>(input_, run_start_, out, carry_.template view<T>());
    else
      mttkrp_private<T>(input_, out, partial, this->threads_);
  }

  Coo sorted_;                    // owner
  std::vector<Count> run_start_;  // owner
  Matrix carry_;                  // owner
  Values product_;                // sequential
  MttkrpInput<T> input_;
};

}  // namespace

std::unique_ptr<Prepared> prepare_coo_cpu(const Problem& problem, const Params& params) {
  const int threads = thread_count(params);
  return dispatch(problem.dtype(), [&]<class T>() -> std::unique_ptr<Prepared> {
    switch (problem.operation()) {
      case Operation::tew:
        return std::make_unique<TewRun<T>>(problem, threads);
      case Operation::ts:
        return std::make_unique<TsRun<T>>(problem, threads);
      case Operation::ttv:
      case Operation::ttm:
        return std::make_unique<FiberRun<T>>(problem, threads);
      default: {
        const auto& update = params.word("update");
        return std::make_unique<MttkrpRun<T>>(problem, update == "sequential" ? 1 : threads,
                                              update);
      }
    }
  });
}

}  // namespace retensor::pasta
