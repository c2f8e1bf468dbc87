// flycoo.cpu: the format, the partitions and the remapping of the GPU's form with threads in the
// place of thread blocks; the algorithm stands in kernels_cpu.hpp.
#include "papers/flycoo/kernels_cpu.hpp"

#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>

#include "common/core/error.hpp"
#include "common/measure/method.hpp"
#include "papers/flycoo/methods.hpp"

namespace retensor::flycoo {

RunTensor::RunTensor(Flycoo tensor, bool remaps) : tensor_(std::move(tensor)), remaps_(remaps) {
  const int copies = remaps_ ? 1 : tensor_.order() - 1;
  for (int c = 0; c < copies; ++c) copies_.emplace_back(tensor_.records.size());
  if (remaps_) {
    out_ = &copies_.front();
    return;
  }
  const Records* previous = &tensor_.records;
  for (int mode = 0; mode < copies; ++mode) {
    Records& next = copies_[static_cast<std::size_t>(mode)];
    remap(tensor_, mode, *previous, next);
    previous = &next;
  }
}

TensorPass RunTensor::pass(int mode) {
  if (mode != next_)
    throw LogicError(
        fmt::format("a pass over mode {}, but the tensor is in mode {}'s order", mode, next_));
  const auto m = static_cast<std::size_t>(mode);
  TensorPass pass{.layout = tensor_.layout,
                  .mode = mode,
                  .next = tensor_.next_mode(mode),
                  .start = tensor_.modes[m].start,
                  .in = in_->data()};
  if (remaps_) {
    pass.stream = tensor_.stream(mode);
    pass.out = out_->data();
  } else if (mode > 0) {
    pass.in = copies_[m - 1].data();
  }
  return pass;
}

void RunTensor::swap() {
  if (remaps_) std::swap(in_, out_);
  next_ = tensor_.next_mode(next_);
}

Count RunTensor::bytes() const {
  return tensor_.bytes() + copies_.size() * tensor_.copy_bytes();
}

namespace {

struct Unwatched {
  void operator()(std::uint32_t, Index) const {}
};

int thread_count(const Params& params) {
  const auto asked = static_cast<int>(params.integer("threads"));
  return asked > 0 ? asked : omp_get_max_threads();
}

template <class T>
class AllModes : public Prepared, private Passes {
 public:
  AllModes(const Problem& problem, const Params& params)
      : problem_(problem),
        threads_(thread_count(params)),
        tensor_(to_flycoo(problem.x(), format_options(params, threads_, problem.spec().seed)),
                params.flag("remap")),
        out_(total_rows(problem.x().dims), problem.rank(), problem.dtype()) {}

  void run(StageTimer& timer) override {
    timer.stage("zero");
    zero(out_.values().template as<T>());
    timer.stage("kernel");
    mttkrp_all<T>(tensor_, problem_.dense(), out_.template view<T>(), threads_, Unwatched{});
  }

  Result result() override { return out_; }

  Executed executed() const override {
    Executed facts = format_facts(tensor_.format());
    facts["kernel"] = "FLYCOO-MTTKRP-OMP";
    facts["threads"] = std::to_string(threads_);
    facts["remap"] = tensor_.remaps() ? "in the pass" : "none, a copy per mode";
    return facts;
  }
  Footprint footprint() const override { return {tensor_.bytes(), 0}; }
  Work work() const override { return work_model(problem_); }
  Passes* passes() override { return this; }

 private:
  void run_mode(int mode, StageTimer& timer) override {
    const auto rows = rows_of(mode);
    timer.stage("zero");
    zero({rows.data, rows.rows * rows.cols});
    timer.stage("kernel");
    mttkrp_pass<T>(tensor_, mode, problem_.dense(), rows, threads_, Unwatched{});
  }

  Matrix mode_result(int mode) override {
    const auto rows = rows_of(mode);
    Matrix one(rows.rows, rows.cols, problem_.dtype());
    std::copy_n(rows.data, rows.rows * rows.cols, one.view<T>().data);
    return one;
  }

  MatrixView<T> rows_of(int mode) {
    return rows_of_mode(problem_.x().dims, mode, out_.template view<T>());
  }

  void zero(std::span<T> values) const {
    T* const at = values.data();
#pragma omp parallel for num_threads(threads_) schedule(static)
    for (Count i = 0; i < values.size(); ++i) at[i] = T{0};
  }

  const Problem& problem_;
  const int threads_;
  RunTensor tensor_;
  Matrix out_;
};

class FlycooCpu : public Method {
 public:
  std::string_view id() const override { return "flycoo.cpu"; }
  std::string_view summary() const override {
    return "MTTKRP over all modes with remapping in the pass, threads as thread blocks (FLYCOO "
           "Algorithms 2 to 5)";
  }
  Backend backend() const override { return Backend::cpu; }
  bool takes_all_modes() const override { return true; }

  ParamSchema params() const override {
    auto specs = format_params("threads");
    specs.push_back({"threads",
                     std::int64_t{0},
                     "OpenMP threads; 0 uses every core the process may use",
                     0,
                     1024,
                     {}});
    return ParamSchema(std::move(specs));
  }

  Support supports(const Problem& problem, const Params& params) const override {
    return supports_format(problem, params);
  }

  std::unique_ptr<Prepared> prepare(const Problem& problem, const Params& params) const override {
    return dispatch(problem.dtype(), [&]<class T>() -> std::unique_ptr<Prepared> {
      return std::make_unique<AllModes<T>>(problem, params);
    });
  }
};

}  // namespace

std::unique_ptr<Method> make_flycoo_cpu() {
  return std::make_unique<FlycooCpu>();
}

}  // namespace retensor::flycoo
