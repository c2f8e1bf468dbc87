// pasta.cpu.plain: the loops of the suite as the paper prints or describes them, on coordinates
// (section III.B.1, Algorithm 1) or in HiCOO (section III.D.1, Algorithm 3).
//
// TEW and TS take an element a step. TTV and TTM take a fiber a step, in a tensor sorted by fibers
// or in gHiCOO with the product mode plain. MTTKRP takes a nonzero a step on coordinates and a
// block a step in HiCOO. The product of a nonzero's factor rows is formed in a row of the thread,
// as in ParTI, which the paper follows, and added to the output by one atomic update an element.
// Order and rank are run-time values. Nothing is prefetched, no sum is kept over several nonzeros,
// and every store goes through the caches: pasta.cpu.coo and pasta.cpu.hicoo differ in all that.
//
// Deviation: Algorithm 1 copies the indices of a fiber within its loop. Here prepare does, as
// section III.B says of all results.
#include <string>
#include <utility>
#include <vector>

#include "common/formats/hicoo.hpp"
#include "common/run/cpu_run.hpp"
#include "papers/pasta/format/fibers.hpp"
#include "papers/pasta/format/hicoo_work.hpp"
#include "papers/pasta/format/options.hpp"
#include "papers/pasta/format/patterns.hpp"
#include "papers/pasta/kernels/prepare_cpu.hpp"

namespace retensor::pasta {
namespace {

bool in_hicoo(const Params& params) {
  return params.word("format") == "hicoo";
}

std::string kernel_name(const Params& params, const char* kernel) {
  return (in_hicoo(params) ? "HiCOO-" : "COO-") + std::string(kernel) + "-OMP, plain";
}

/// A tensor in the order in which its format stores it, and the bytes of that format.
struct Stored {
  Coo elements;
  Count bytes = 0;

  Stored(const Coo& x, const Params& params) : elements(x), bytes(x.bytes()) {
    if (!in_hicoo(params)) return;
    const Hicoo blocks = to_hicoo(x, {block_bits(params), {}});
    elements = blocks.to_coo(), bytes = blocks.bytes();
  }
  template <class T>
  std::span<const T> values() const {
    return std::as_const(elements).values.template as<T>();
  }
};

/// z[i] = f(i) for all elements, each thread an equal share.
template <class T, class F>
void fill(std::span<T> z, int threads, const F& f) {
  const auto n = static_cast<std::int64_t>(z.size());
#pragma omp parallel for num_threads(threads) schedule(static)
  for (std::int64_t i = 0; i < n; ++i) z[static_cast<Count>(i)] = f(static_cast<Count>(i));
}

/// Calls f with the operation as a function of two elements.
template <class F>
void with_operation(Arithmetic op, const F& f) {
  switch (op) {
    case Arithmetic::add:
      return f([](auto a, auto b) { return a + b; });
    case Arithmetic::sub:
      return f([](auto a, auto b) { return a - b; });
    case Arithmetic::mul:
      return f([](auto a, auto b) { return a * b; });
    case Arithmetic::div:
      return f([](auto a, auto b) { return a / b; });
  }
}

template <class T>
class PlainTew : public CpuRun {
 public:
  PlainTew(const Problem& problem, const Params& params)
      : CpuRun(problem, thread_count(params), kernel_name(params, "TEW")),
        op_(arithmetic(problem.spec().variant)),
        x_(problem.x(), params),
        y_(problem.y(), params),
        pattern_(predict_pattern(x_.elements, y_.elements, op_)) {
    executed_["pattern"] = pattern_.equal() ? "equal" : "general";
    format_bytes_ = x_.bytes + y_.bytes + Stored(pattern_.z, params).bytes +
                    (pattern_.from_x.size() + pattern_.from_y.size()) * sizeof(Count);
  }

  void run(StageTimer& timer) override {
    timer.stage("kernel");
    const auto x = x_.values<T>(), y = y_.values<T>();
    const auto z = pattern_.z.values.template as<T>();
    const auto &from_x = pattern_.from_x, &from_y = pattern_.from_y;
    with_operation(op_, [&](auto f) {
      if (pattern_.equal()) return fill(z, threads_, [&](Count i) { return f(x[i], y[i]); });
      const auto element = [](std::span<const T> v, Count p) { return p == kAbsent ? T{0} : v[p]; };
      fill(z, threads_, [&](Count i) { return f(element(x, from_x[i]), element(y, from_y[i])); });
    });
  }

  Result result() override { return pattern_.z; }

 private:
  const Arithmetic op_;
  const Stored x_, y_;
  TewPattern pattern_;
};

template <class T>
class PlainTs : public CpuRun {
 public:
  PlainTs(const Problem& problem, const Params& params)
      : CpuRun(problem, thread_count(params), kernel_name(params, "TS")),
        op_(arithmetic(problem.spec().variant)),
        x_(problem.x(), params),
        z_(x_.elements) {
    format_bytes_ = 2 * x_.bytes;
  }

  void run(StageTimer& timer) override {
    timer.stage("kernel");
    const auto x = x_.values<T>();
    const T s = static_cast<T>(problem_.spec().scalar);
    with_operation(op_, [&](auto f) {
      fill(z_.values.template as<T>(), threads_, [&](Count i) { return f(x[i], s); });
    });
  }

  Result result() override { return z_; }

 private:
  const Arithmetic op_;
  const Stored x_;
  Coo z_;
};

/// TTV, whose matrix has one column, and TTM.
template <class T>
class PlainFibers : public CpuRun {
 public:
  PlainFibers(const Problem& problem, const Params& params)
      : CpuRun(problem, thread_count(params),
               kernel_name(params, problem.operation() == Operation::ttv ? "TTV" : "TTM")),
        u_(problem.dense()[0].view<T>()),
        x_(fibers_of(problem, params)),
        y_(problem.dtype(), x_.fibers() * u_.cols) {
    format_bytes_ = x_.bytes() + y_.bytes();
  }

  void run(StageTimer& timer) override {
    timer.stage("kernel");
    const auto fibers = static_cast<std::int64_t>(x_.fibers());
    const auto value = std::as_const(x_.value).template as<T>();
    const Count rank = u_.cols;
    T* const y = y_.as<T>().data();
#pragma omp parallel for num_threads(threads_) schedule(static)
    for (std::int64_t i = 0; i < fibers; ++i) {
      const auto f = static_cast<Count>(i);
      T* const row = y + f * rank;
      std::fill_n(row, rank, T{0});
      for (Count m = x_.start[f]; m < x_.start[f + 1]; ++m) {
        const T* const u = u_.row(x_.index[m]);
        for (Count r = 0; r < rank; ++r) row[r] += value[m] * u[r];
      }
    }
  }

  Result result() override {
    const Dims& dims = problem_.x().dims;
    if (problem_.operation() == Operation::ttv)
      return ttv_result(dims, problem_.mode(), x_.coordinates, y_);
    return ttm_result(dims, problem_.mode(), u_.cols, x_.coordinates, y_);
  }

 private:
  static FiberArrays fibers_of(const Problem& problem, const Params& params) {
    if (!in_hicoo(params)) return fiber_arrays(problem.x(), problem.mode());
    return hicoo_fiber_arrays(to_hicoo(problem.x(), {block_bits(params), {problem.mode()}}));
  }

  const MatrixView<const T> u_;
  const FiberArrays x_;
  Values y_;
};

/// What MTTKRP on coordinates and in HiCOO share: the output and the product of factor rows.
template <class T>
class PlainMttkrp : public CpuRun {
 public:
  PlainMttkrp(const Problem& problem, const Params& params)
      : CpuRun(problem, thread_count(params), kernel_name(params, "MTTKRP")),
        out_(problem.x().dims[static_cast<std::size_t>(problem.mode())], problem.rank(),
             problem.dtype()) {
    for (std::size_t m = 0; m < problem.x().dims.size(); ++m)
      if (m != static_cast<std::size_t>(problem.mode()))
        factors_.push_back({m, problem.dense()[m].template view<T>()});
    format_bytes_ = out_.bytes();
  }

  void run(StageTimer& timer) final {
    timer.stage("zero");
    fill(out_.values().template as<T>(), threads_, [](Count) { return T{0}; });
    timer.stage("kernel");
    kernel();
  }

  Result result() final { return out_; }

 protected:
  /// Adds value times the product of the factor rows that row_of(mode) names to output row `to`;
  /// `product` has R elements.
  template <class RowOf>
  void add_nonzero(T value, Count to, const RowOf& row_of, std::vector<T>& product) {
    std::ranges::fill(product, value);
    for (const auto& factor : factors_) {
      const T* const row = factor.rows.row(row_of(factor.mode));
      for (std::size_t r = 0; r < product.size(); ++r) product[r] *= row[r];
    }
    T* const out = out_.template view<T>().row(to);
    for (std::size_t r = 0; r < product.size(); ++r) {
#pragma omp atomic
      out[r] += product[r];
    }
  }

  std::vector<T> empty_product() const {
    return std::vector<T>(out_.cols());
  }

 private:
  struct Factor {
    std::size_t mode;
    MatrixView<const T> rows;
  };
  virtual void kernel() = 0;

  std::vector<Factor> factors_;  // of the modes but the output's
  Matrix out_;
};

/// COO-MTTKRP-OMP: parallel over nonzeros.
template <class T>
class PlainCooMttkrp final : public PlainMttkrp<T> {
  using PlainMttkrp<T>::PlainMttkrp;

  void kernel() override {
    const Coo& x = this->problem_.x();
    const auto value = x.values.template as<T>();
    const auto& row = x.indices[static_cast<std::size_t>(this->problem_.mode())];
    const auto nonzeros = static_cast<std::int64_t>(x.nnz());
#pragma omp parallel num_threads(this->threads_)
    {
      auto product = this->empty_product();
#pragma omp for schedule(static)
      for (std::int64_t i = 0; i < nonzeros; ++i) {
        const auto p = static_cast<Count>(i);
        this->add_nonzero(
            value[p], row[p], [&](std::size_t m) { return x.indices[m][p]; }, product);
      }
    }
  }
};

/// HiCOO-MTTKRP-OMP, Algorithm 3: parallel over blocks.
template <class T>
class PlainHicooMttkrp final : public PlainMttkrp<T> {
 public:
  PlainHicooMttkrp(const Problem& problem, const Params& params)
      : PlainMttkrp<T>(problem, params), x_(to_hicoo(problem.x(), {block_bits(params), {}})) {
    this->executed_["blocks"] = std::to_string(x_.blocks());
    this->format_bytes_ += x_.bytes();
  }

  Work work() const override {
    return hicoo_mttkrp_work(this->problem_, x_.blocks(), x_.block_bits);
  }

 private:
  void kernel() override {
    const auto value = std::as_const(x_).values.template as<T>();
    const auto mode = static_cast<std::size_t>(this->problem_.mode());
    const auto blocks = static_cast<std::int64_t>(x_.blocks());
#pragma omp parallel num_threads(this->threads_)
    {
      auto product = this->empty_product();
#pragma omp for schedule(static)
      for (std::int64_t i = 0; i < blocks; ++i) {
        const auto b = static_cast<Count>(i);
        for (Count p = x_.block_start[b]; p < x_.block_start[b + 1]; ++p) {
          const auto index = [&](std::size_t m) {
            return (Count{x_.block_index[m][b]} << x_.block_bits) + x_.element[m][p];
          };
          this->add_nonzero(value[p], index(mode), index, product);
        }
      }
    }
  }

  const Hicoo x_;
};

}  // namespace

std::unique_ptr<Prepared> prepare_plain_cpu(const Problem& problem, const Params& params) {
  return dispatch(problem.dtype(), [&]<class T>() -> std::unique_ptr<Prepared> {
    switch (problem.operation()) {
      case Operation::tew:
        return std::make_unique<PlainTew<T>>(problem, params);
      case Operation::ts:
        return std::make_unique<PlainTs<T>>(problem, params);
      case Operation::ttv:
      case Operation::ttm:
        return std::make_unique<PlainFibers<T>>(problem, params);
      default:
        if (in_hicoo(params)) return std::make_unique<PlainHicooMttkrp<T>>(problem, params);
        return std::make_unique<PlainCooMttkrp<T>>(problem, params);
    }
  });
}

}  // namespace retensor::pasta
