// The tensor and its copies in the course of the passes, and the run of flycoo.cpu; the algorithm
// stands in flycoo_cpu.hpp.
#include "papers/flycoo/kernels/flycoo_cpu.hpp"

#include <numeric>
#include <utility>

#include "common/core/message.hpp"
#include "common/run/cpu_run.hpp"

namespace retensor::flycoo {

RunTensor::RunTensor(Flycoo tensor, bool remaps) : tensor_(std::move(tensor)), remaps_(remaps) {
  const int copies = remaps_ ? 1 : tensor_.order() - 1;
  for (int mode = 0; mode < copies; ++mode) {
    copies_.emplace_back(tensor_.records.size());
    if (!remaps_) remap(tensor_, mode, records_of(mode), copies_.back());
  }
}

TensorPass RunTensor::pass(int mode) {
  if (mode != next_)
    throw logic_error("a pass over mode {}, but the tensor is in mode {}'s order", mode, next_);
  return {.layout = tensor_.layout,
          .mode = mode,
          .next = tensor_.next_mode(mode),
          .start = tensor_.modes[static_cast<std::size_t>(mode)].start,
          .in = records_of(mode).data(),
          .stream = tensor_.stream(mode),
          .out = remaps_ ? copies_.front().data() : nullptr};
}

void RunTensor::swap() {
  if (remaps_) std::swap(tensor_.records, copies_.front());
  next_ = tensor_.next_mode(next_);
}

namespace {

/// The format, the partitions and the remapping of the GPU's form with threads in the place of
/// thread blocks.
template <class T>
class AllModes : public CpuRun, private Passes {
 public:
  AllModes(const Problem& problem, int threads, RunTensor tensor, bool remaps)
      : CpuRun(problem, threads, "FLYCOO-MTTKRP-OMP"),
        tensor_(std::move(tensor)),
        out_(std::accumulate(problem.x().dims.begin(), problem.x().dims.end(), Count{0}),
             problem.rank(), problem.dtype()) {
    executed_.merge(tensor_.format().facts());
    executed_["remap"] = remaps ? "in the pass" : "none, a copy per mode";
    format_bytes_ = tensor_.bytes();
  }

  void run(StageTimer& timer) override {
    timer.stage("zero");
    zero(out_.values().template as<T>());
    timer.stage("kernel");
    mttkrp_all<T>(tensor_, problem_.dense(), out_.template view<T>(), threads_, [](auto, auto) {});
  }
  Result result() override { return out_; }
  Passes* passes() override { return this; }

 private:
  void run_mode(int mode, StageTimer& timer) override {
    const auto rows = rows_of(mode);
    timer.stage("zero");
    zero({rows.data, rows.rows * rows.cols});
    timer.stage("kernel");
    mttkrp_pass<T>(tensor_, mode, problem_.dense(), rows, threads_, [](auto, auto) {});
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

  RunTensor tensor_;
  Matrix out_;
};

}  // namespace

std::unique_ptr<Prepared> prepare_flycoo_cpu(const Problem& problem, const Params& params) {
  const int threads = thread_count(params);
  const bool remaps = params.flag("remap");
  RunTensor tensor(to_flycoo(problem.x(), format_options(params, threads, problem.spec().seed)),
                   remaps);
  return dispatch(problem.dtype(), [&]<class T>() -> std::unique_ptr<Prepared> {
    return std::make_unique<AllModes<T>>(problem, threads, std::move(tensor), remaps);
  });
}

}  // namespace retensor::flycoo
