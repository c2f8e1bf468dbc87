// pasta.cpu.hicoo: the suite in HiCOO (PASTA section III.D.1).
//
// TEW and TS run on the value array of the format, as on coordinates; for different patterns
// prepare merges the two tensors and stores the result in HiCOO too. TTV and TTM use gHiCOO with
// the product mode plain, so that fibers stay contiguous inside blocks. MTTKRP runs over blocks
// (Algorithm 3, atomic updates); `owner` gives all blocks of one block row to one thread, `private`
// keeps a copy of the output per thread.
#include <algorithm>
#include <memory>
#include <numeric>
#include <string>
#include <utility>

#include "common/formats/hicoo.hpp"
#include "papers/pasta/cpu_run.hpp"
#include "papers/pasta/methods.hpp"
#include "papers/pasta/prepare.hpp"

namespace retensor::pasta {
namespace {

template <class T>
class TewRun : public CpuRun {
 public:
  TewRun(const Problem& problem, int threads, int bits)
      : CpuRun(problem, threads, "HiCOO-TEW-OMP"),
        op_(arithmetic(problem.spec().variant)),
        x_(to_hicoo(problem.x(), {bits, {}})),
        y_(to_hicoo(problem.y(), {bits, {}})) {
    // Positions in the pattern are those of the two tensors as stored.
    auto pattern = predict_pattern(x_.to_coo(), y_.to_coo(), op_);
    z_ = to_hicoo(pattern.z, {bits, {}});
    executed_["pattern"] = pattern.equal() ? "equal" : "general";
    if (!pattern.equal())
      for (const Count p : hicoo_order(pattern.z, {bits, {}})) {
        from_x_.push_back(pattern.from_x[p]);
        from_y_.push_back(pattern.from_y[p]);
      }
    format_bytes_ =
        x_.bytes() + y_.bytes() + z_.bytes() + (from_x_.size() + from_y_.size()) * sizeof(Count);
  }

  void run(StageTimer& timer) override {
    timer.stage("kernel");
    const auto x = std::as_const(x_).values.template as<T>();
    const auto y = std::as_const(y_).values.template as<T>();
    const auto z = z_.values.template as<T>();
    if (from_x_.empty())
      tew<T>(op_, x, y, z, threads_);
    else
      tew_general<T>(op_, x, y, from_x_, from_y_, z, threads_);
  }

  Result result() override { return z_.to_coo(); }

 private:
  const Arithmetic op_;
  Hicoo x_, y_, z_;
  std::vector<Count> from_x_, from_y_;
};

template <class T>
class TsRun : public CpuRun {
 public:
  TsRun(const Problem& problem, int threads, int bits)
      : CpuRun(problem, threads, "HiCOO-TS-OMP"),
        op_(arithmetic(problem.spec().variant)),
        x_(to_hicoo(problem.x(), {bits, {}})),
        z_(x_) {
    format_bytes_ = x_.bytes() + z_.bytes();
  }

  void run(StageTimer& timer) override {
    timer.stage("kernel");
    ts<T>(op_, std::as_const(x_).values.template as<T>(), static_cast<T>(problem_.spec().scalar),
          z_.values.template as<T>(), threads_);
  }

  Result result() override { return z_.to_coo(); }

 private:
  const Arithmetic op_;
  Hicoo x_, z_;
};

template <class T>
class FiberRun : public CpuRun {
 public:
  FiberRun(const Problem& problem, int threads, int bits)
      : CpuRun(problem, threads,
               problem.operation() == Operation::ttv ? "HiCOO-TTV-OMP" : "HiCOO-TTM-OMP"),
        u_(problem.dense()[0].view<T>()),
        x_(to_hicoo(problem.x(), {bits, {problem.mode()}})),
        start_(hicoo_fiber_starts(x_)),
        y_(problem.dtype(), (start_.size() - 1) * u_.cols) {
    format_bytes_ = x_.bytes() + start_.size() * sizeof(Count) + y_.bytes();
  }

  void run(StageTimer& timer) override {
    timer.stage("kernel");
    const Fibers<T> x{start_, x_.plain_index[0], std::as_const(x_).values.template as<T>()};
    if (problem_.operation() == Operation::ttv)
      ttv<T>(x, u_, y_.as<T>(), threads_);
    else
      ttm<T>(x, u_, y_.as<T>(), threads_);
  }

  Result result() override {
    const Coo x = x_.to_coo();
    const auto coordinates = fiber_coordinates(x, problem_.mode(), start_);
    const Dims& dims = problem_.x().dims;
    if (problem_.operation() == Operation::ttv)
      return ttv_result(dims, problem_.mode(), coordinates, y_);
    return ttm_result(dims, problem_.mode(), u_.cols, coordinates, y_);
  }

 private:
  MatrixView<const T> u_;
  Hicoo x_;
  std::vector<Count> start_;
  Values y_;
};

template <class T>
class MttkrpRun : public MttkrpRunBase<T> {
 public:
  MttkrpRun(const Problem& problem, int threads, int bits, const std::string& update)
      : MttkrpRunBase<T>(problem, threads, "HiCOO-MTTKRP-OMP", update),
        x_(to_hicoo(problem.x(), {bits, {}})) {
    const auto mode = static_cast<std::size_t>(problem.mode());
    input_.block_bits = x_.block_bits;
    input_.block_start = x_.block_start;
    input_.block_row = x_.block_index[mode];
    input_.row = x_.element[mode];
    input_.value = std::as_const(x_).values.template as<T>();
    for (std::size_t m = 0; m < x_.block_index.size(); ++m) {
      if (m == mode) continue;
      input_.block_other.emplace_back(x_.block_index[m]);
      input_.other.emplace_back(x_.element[m]);
      input_.factor.push_back(problem.dense()[m].template view<T>());
    }
    if (update == "private")
      bounds_ = fair_cuts(x_.block_start, threads, [](Count) { return false; });
    if (update == "owner") group_blocks();
    this->executed_["blocks"] = std::to_string(x_.blocks());
    this->format_bytes_ += x_.bytes() + blocks_.size() * sizeof(Count);
  }

  Work work() const override {
    // Table I, HiCOO-MTTKRP: factor rows of a block are counted once per block where that is less.
    Work w = CpuRun::work();
    const auto order = static_cast<double>(x_.order());
    const auto rank = static_cast<double>(this->problem_.rank());
    const double block_edge = static_cast<double>(std::uint64_t{1} << x_.block_bits);
    const double rows =
        std::min(static_cast<double>(x_.blocks()) * block_edge, static_cast<double>(x_.entries()));
    w.bytes = sizeof(T) * order * rank * rows +
              (order + sizeof(T)) * static_cast<double>(x_.entries()) +
              (4 * order + 8) * static_cast<double>(x_.blocks());
    return w;
  }

 private:
  void kernel(MatrixView<T> out, std::span<T> partial) override {
    if (this->update_ == "atomic")
      hicoo_mttkrp_atomic<T>(input_, out, this->threads_);
    else if (this->update_ == "owner")
      hicoo_mttkrp_owner<T>(input_, out, blocks_, bounds_, this->threads_);
    else
      hicoo_mttkrp_private<T>(input_, out, partial, bounds_, this->threads_);
  }

  // Lists the blocks by block row, Morton order inside a row, and cuts the list between rows.
  void group_blocks() {
    blocks_.resize(x_.blocks());
    std::iota(blocks_.begin(), blocks_.end(), Count{0});
    const auto row = input_.block_row;
    std::stable_sort(blocks_.begin(), blocks_.end(),
                     [&](Count a, Count b) { return row[a] < row[b]; });
    std::vector<Count> weight{0};
    for (const Count b : blocks_)
      weight.push_back(weight.back() + x_.block_start[b + 1] - x_.block_start[b]);
    bounds_ = fair_cuts(weight, this->threads_,
                        [&](Count i) { return row[blocks_[i]] == row[blocks_[i - 1]]; });
  }

  Hicoo x_;
  HicooMttkrpInput<T> input_;
  std::vector<Count> blocks_, bounds_;
};

class HicooCpu : public Method {
 public:
  std::string_view id() const override { return "pasta.cpu.hicoo"; }
  std::string_view summary() const override {
    return "TEW, TS, TTV, TTM and MTTKRP in HiCOO with OpenMP (PASTA section III.D.1, Algorithm 3)";
  }
  Backend backend() const override { return Backend::cpu; }

  ParamSchema params() const override {
    auto specs = cpu_params().specs();
    specs.push_back(block_param());
    return ParamSchema(std::move(specs));
  }

  Support supports(const Problem& problem, const Params& params) const override {
    if (const auto edge = supports_block(params); !edge.ok) return edge;
    return supports_suite(problem);
  }

  std::unique_ptr<Prepared> prepare(const Problem& problem, const Params& params) const override {
    const int threads = thread_count(params), bits = block_bits(params);
    return dispatch(problem.dtype(), [&]<class T>() -> std::unique_ptr<Prepared> {
      switch (problem.operation()) {
        case Operation::tew:
          return std::make_unique<TewRun<T>>(problem, threads, bits);
        case Operation::ts:
          return std::make_unique<TsRun<T>>(problem, threads, bits);
        case Operation::ttv:
        case Operation::ttm:
          return std::make_unique<FiberRun<T>>(problem, threads, bits);
        default:
          return std::make_unique<MttkrpRun<T>>(problem, threads, bits, params.word("update"));
      }
    });
  }
};

}  // namespace

std::unique_ptr<Method> make_hicoo_cpu() {
  return std::make_unique<HicooCpu>();
}

}  // namespace retensor::pasta
