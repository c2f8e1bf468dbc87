// The suite's methods: pasta.cpu.coo solves TEW, TS, TTV, TTM and MTTKRP (PASTA section III.B.1).
//
// Pre-processing as the paper has it: TEW predicts the pattern of the result, TTV and TTM sort a
// copy so that fibers of the product mode are contiguous and allocate the result by the
// sparse-dense property; MTTKRP allocates alone. All of it happens in prepare.
#include <omp.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "common/measure/registry.hpp"
#include "common/tensor/operations.hpp"
#include "papers/pasta/kernels.hpp"

namespace retensor {

void register_pasta(Registry& registry);

namespace pasta {
namespace {

constexpr const char* kId = "pasta.cpu.coo";

Arithmetic arithmetic(const std::string& variant) {
  if (variant == "add") return Arithmetic::add;
  if (variant == "sub") return Arithmetic::sub;
  if (variant == "mul") return Arithmetic::mul;
  if (variant == "div") return Arithmetic::div;
  throw InputError("unknown element-wise operation '" + variant +
                   "', expected add, sub, mul or div");
}

int thread_count(const Params& params) {
  const auto asked = static_cast<int>(params.integer("threads"));
  return asked > 0 ? asked : omp_get_max_threads();
}

// What all runs share: the facts that go into the row.
class CpuRun : public Prepared {
 public:
  CpuRun(const Problem& problem, int threads, std::string kernel)
      : problem_(problem), threads_(threads) {
    executed_["kernel"] = std::move(kernel);
    executed_["threads"] = std::to_string(threads);
  }
  Executed executed() const override { return executed_; }
  Footprint footprint() const override { return {format_bytes_, 0}; }
  Work work() const override { return work_model(problem_); }

 protected:
  const Problem& problem_;
  const int threads_;
  Executed executed_;
  Count format_bytes_ = 0;
};

template <class T>
class TewRun : public CpuRun {
 public:
  TewRun(const Problem& problem, int threads)
      : CpuRun(problem, threads, "COO-TEW-OMP"), op_(arithmetic(problem.spec().variant)) {
    const Coo& x = problem.x();
    const Coo& y = problem.y();
    equal_pattern_ = x.dims == y.dims && x.indices == y.indices;
    executed_["pattern"] = equal_pattern_ ? "equal" : "general";
    if (equal_pattern_) {
      z_ = x;
    } else {
      merge_patterns(x, y);
    }
    format_bytes_ = z_.bytes() + (from_x_.size() + from_y_.size()) * sizeof(Count);
  }

  void run(StageTimer& timer) override {
    timer.stage("kernel");
    const auto x = problem_.x().values.template as<T>();
    const auto y = problem_.y().values.template as<T>();
    if (equal_pattern_)
      tew<T>(op_, x, y, z_.values.template as<T>(), threads_);
    else
      tew_general<T>(op_, x, y, from_x_, from_y_, z_.values.template as<T>(), threads_);
  }

  Result result() override { return z_; }

 private:
  // Predicts the pattern of the result: the union for add and sub, the intersection for mul, x's
  // pattern for div, where an absent denominator is an error. Tensors of different shape are
  // combined in the smallest shape that holds both.
  void merge_patterns(const Coo& x, const Coo& y) {
    const auto modes = natural_order(x.order());
    const auto px = sort_permutation(x, modes);
    const auto py = sort_permutation(y, modes);
    Dims dims = x.dims;
    for (std::size_t m = 0; m < dims.size(); ++m) dims[m] = std::max(dims[m], y.dims[m]);
    z_ = Coo(dims, problem_.dtype());
    Count i = 0, j = 0;
    while (i < px.size() || j < py.size()) {
      const int side = compare(x, px, i, y, py, j);
      if (side < 0) {
        if (op_ == Arithmetic::div)
          throw InputError("division by the absent entry " + coordinate_text(x, px[i]));
        if (op_ != Arithmetic::mul) append(x, px[i], px[i], kAbsent);
      } else if (side > 0) {
        if (op_ == Arithmetic::add || op_ == Arithmetic::sub) append(y, py[j], kAbsent, py[j]);
      } else {
        append(x, px[i], px[i], py[j]);
      }
      if (side <= 0) ++i;
      if (side >= 0) ++j;
    }
    z_.values = Values(problem_.dtype(), from_x_.size());
  }

  // Order of nonzero i of x and j of y by coordinate; a tensor at its end counts as larger.
  static int compare(const Coo& x, const std::vector<Count>& px, Count i, const Coo& y,
                     const std::vector<Count>& py, Count j) {
    if (i == px.size()) return 1;
    if (j == py.size()) return -1;
    for (std::size_t m = 0; m < x.indices.size(); ++m) {
      const Index a = x.indices[m][px[i]], b = y.indices[m][py[j]];
      if (a != b) return a < b ? -1 : 1;
    }
    return 0;
  }

  void append(const Coo& source, Count nonzero, Count x, Count y) {
    for (std::size_t m = 0; m < z_.indices.size(); ++m)
      z_.indices[m].push_back(source.indices[m][nonzero]);
    from_x_.push_back(x);
    from_y_.push_back(y);
  }

  const Arithmetic op_;
  bool equal_pattern_ = true;
  std::vector<Count> from_x_, from_y_;
  Coo z_;
};

template <class T>
class TsRun : public CpuRun {
 public:
  TsRun(const Problem& problem, int threads)
      : CpuRun(problem, threads, "COO-TS-OMP"),
        op_(arithmetic(problem.spec().variant)),
        z_(problem.x()) {
    format_bytes_ = z_.bytes();
  }

  void run(StageTimer& timer) override {
    timer.stage("kernel");
    ts<T>(op_, problem_.x().values.template as<T>(), static_cast<T>(problem_.spec().scalar),
          z_.values.template as<T>(), threads_);
  }

  Result result() override { return z_; }

 private:
  const Arithmetic op_;
  Coo z_;
};

// TTV and TTM: a copy of x sorted by fibers of the product mode, and one output per fiber.
template <class T>
class FiberRun : public CpuRun {
 public:
  FiberRun(const Problem& problem, int threads)
      : CpuRun(problem, threads,
               problem.operation() == Operation::ttv ? "COO-TTV-OMP" : "COO-TTM-OMP"),
        u_(problem.dense()[0].view<T>()) {
    Coo sorted = problem.x();
    const int mode = problem.mode();
    const auto modes = fiber_order(sorted.order(), mode);
    executed_["input"] = is_sorted(sorted, modes) ? "sorted" : "sorted by prepare";
    sort_nonzeros(sorted, modes);
    start_ = fiber_starts(sorted, mode);
    const Count fibers = start_.size() - 1;
    for (int m = 0; m < sorted.order(); ++m)
      if (m != mode) fiber_index_.push_back(gather(sorted.indices[static_cast<std::size_t>(m)]));
    index_ = std::move(sorted.indices[static_cast<std::size_t>(mode)]);
    value_ = std::move(sorted.values);
    y_ = Values(problem.dtype(), fibers * u_.cols);
    format_bytes_ = start_.size() * sizeof(Count) + index_.size() * sizeof(Index) + value_.bytes() +
                    y_.bytes() + fiber_index_.size() * fibers * sizeof(Index);
  }

  void run(StageTimer& timer) override {
    timer.stage("kernel");
    const Fibers<T> x{start_, index_, std::as_const(value_).template as<T>()};
    if (problem_.operation() == Operation::ttv)
      ttv<T>(x, u_, y_.as<T>(), threads_);
    else
      ttm<T>(x, u_, y_.as<T>(), threads_);
  }

  Result result() override {
    Dims dims = problem_.x().dims;
    const auto mode = static_cast<std::size_t>(problem_.mode());
    if (problem_.operation() == Operation::ttm) {
      dims[mode] = u_.cols;
      return SemiSparseCoo{dims, {problem_.mode()}, fiber_index_, y_};
    }
    dims.erase(dims.begin() + problem_.mode());
    Coo y;
    y.dims = dims;
    y.indices = fiber_index_;
    y.values = y_;
    return y;
  }

 private:
  std::vector<Index> gather(const std::vector<Index>& from) const {
    std::vector<Index> to(start_.size() - 1);
    for (std::size_t f = 0; f < to.size(); ++f) to[f] = from[start_[f]];
    return to;
  }

  MatrixView<const T> u_;
  std::vector<Count> start_;
  std::vector<Index> index_;
  std::vector<std::vector<Index>> fiber_index_;  // the other modes' indices, one per fiber
  Values value_, y_;
};

template <class T>
class MttkrpRun : public CpuRun {
 public:
  MttkrpRun(const Problem& problem, int threads, std::string update)
      : CpuRun(problem, threads, "COO-MTTKRP-OMP"),
        update_(std::move(update)),
        out_(problem.x().dims[static_cast<std::size_t>(problem.mode())], problem.rank(),
             problem.dtype()),
        scratch_(problem.dtype(), static_cast<Count>(threads) * scratch_stride(problem.rank())) {
    executed_["update"] = update_;
    const Coo* x = &problem.x();
    if (update_ == "owner") {
      sorted_ = *x;
      const int row_mode[] = {problem.mode()};
      sort_nonzeros(sorted_, row_mode);
      x = &sorted_;
      cut_at_rows();
    }
    if (update_ == "private")
      partial_ = Values(problem.dtype(), static_cast<Count>(threads) * out_.rows() * out_.cols());
    bind(*x);
    format_bytes_ = (update_ == "owner" ? sorted_.bytes() : 0) + bounds_.size() * sizeof(Count) +
                    partial_.bytes() + scratch_.bytes() + out_.bytes();
  }

  void run(StageTimer& timer) override {
    const auto scratch = scratch_.as<T>();
    const auto out = out_.view<T>();
    timer.stage("zero");
    zero(update_ == "private" ? partial_.as<T>() : out_.values().template as<T>());
    timer.stage("kernel");
    if (update_ == "atomic") {
      mttkrp_atomic<T>(input_, out, scratch, threads_);
    } else if (update_ == "owner") {
      mttkrp_owner<T>(input_, out, bounds_, scratch, threads_);
    } else {
      mttkrp_private<T>(input_, out, partial_.as<T>(), scratch, threads_);
      timer.stage("reduce");
      reduce_partials<T>(std::as_const(partial_).template as<T>(), out, threads_);
    }
  }

  Result result() override { return out_; }

 private:
  void bind(const Coo& x) {
    const auto mode = static_cast<std::size_t>(problem_.mode());
    input_.row = x.indices[mode];
    input_.value = x.values.as<T>();
    for (std::size_t m = 0; m < x.indices.size(); ++m) {
      if (m == mode) continue;
      input_.other.emplace_back(x.indices[m]);
      input_.factor.push_back(problem_.dense()[m].template view<T>());
    }
  }

  // Equal shares of the nonzeros, each cut moved up to the next row boundary.
  void cut_at_rows() {
    const auto& row = sorted_.indices[static_cast<std::size_t>(problem_.mode())];
    const auto parts = static_cast<Count>(threads_);
    for (Count part = 0; part <= parts; ++part) {
      Count at = row.size() * part / parts;
      while (at > 0 && at < row.size() && row[at] == row[at - 1]) ++at;
      bounds_.push_back(at);
    }
  }

  void zero(std::span<T> values) const {
    const auto n = static_cast<std::int64_t>(values.size());
    T* const at = values.data();
#pragma omp parallel for num_threads(threads_) schedule(static)
    for (std::int64_t i = 0; i < n; ++i) at[i] = T{0};
  }

  const std::string update_;
  Coo sorted_;
  std::vector<Count> bounds_;
  Matrix out_;
  Values scratch_, partial_;
  MttkrpInput<T> input_;
};

class CooCpu : public Method {
 public:
  std::string_view id() const override { return kId; }
  std::string_view summary() const override {
    return "TEW, TS, TTV, TTM and MTTKRP on coordinates with OpenMP (PASTA section III.B.1)";
  }
  Backend backend() const override { return Backend::cpu; }

  ParamSchema params() const override {
    return {{"threads",
             std::int64_t{0},
             "OpenMP threads; 0 uses every core the process may use",
             0,
             1024,
             {}},
            {"update",
             std::string("atomic"),
             "MTTKRP: how rows reach the output (the paper: atomic); private: a copy per thread; "
             "owner: nonzeros sorted by output row, rows owned by threads",
             0,
             0,
             {"atomic", "private", "owner"}}};
  }

  Support supports(const Problem& problem, const Params&) const override {
    switch (problem.operation()) {
      case Operation::ttv:
        if (problem.x().order() == 1)
          return Support::no(
              "TTV of a first-order tensor is a scalar, which coordinates can't hold");
        return Support::yes();
      case Operation::tew:
        if (problem.x().order() != problem.y().order())
          return Support::no("the tensors differ in order");
        return Support::yes();
      case Operation::ts:
      case Operation::ttm:
      case Operation::mttkrp:
        return Support::yes();
      default:
        return Support::no(std::string(name(problem.operation())) +
                           " is not among the suite's five kernels");
    }
  }

  std::unique_ptr<Prepared> prepare(const Problem& problem, const Params& params) const override {
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
        case Operation::mttkrp:
          return std::make_unique<MttkrpRun<T>>(problem, threads, params.word("update"));
        default:
          throw LogicError("prepare called for an unsupported operation");
      }
    });
  }
};

}  // namespace
}  // namespace pasta

void register_pasta(Registry& registry) {
  registry.add(std::make_unique<pasta::CooCpu>());
}

}  // namespace retensor
