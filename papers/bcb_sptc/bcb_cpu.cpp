// bcb_sptc.cpu: the format and the algorithm of the GPU's form with an emulated tensor core, so
// that sizes, counts and errors are the same on any machine; kernels_cpu.hpp has the algorithm.
//
// Stages of a run, after the three phases of section V.B.2: tasks and pattern (task processing),
// kernel (computation), output (output processing); with an addend (equation 1) also addend,
// with sorted output sort.
// Conversion belongs to preparing.
#include <omp.h>

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>

#include "papers/bcb_sptc/kernels_cpu.hpp"
#include "papers/bcb_sptc/methods.hpp"

namespace retensor::bcb_sptc {
namespace {

class CpuRun : public Prepared {
 public:
  CpuRun(const Problem& problem, const Params& params, const Addend& addend)
      : problem_(problem),
        arithmetic_(arithmetic_of(params)),
        drops_zeros_(params.word("zeros") == "drop"),
        adds_(addend.beta != 0),
        threads_(params.integer("threads") > 0 ? static_cast<int>(params.integer("threads"))
                                               : omp_get_max_threads()),
        operands_(operands_of(problem, params)),
        tasks_(operands_, params.flag("intersect"), host_room(params.real("memory"))),
        product_(operands_, tasks_, arithmetic_, static_cast<float>(problem.spec().alpha),
                 threads_),
        nothing_(Addend::nothing(operands_.result_dims)) {
    // Made once for the room that the runs need; each run makes them again.
    tasks_.build();
    product_.find_pattern();
    const Room room = host_room(params.real("memory"));
    make_room(room);
    if (addend.beta != 0)
      make_sum(room, addend);
    else if (sorts_output(params))
      make_sum(room, nothing_);
  }

  void run(StageTimer& timer) override {
    timer.stage("tasks");
    tasks_.build();
    timer.stage("pattern");
    product_.find_pattern();
    timer.stage("kernel");
    product_.run(out_);
    timer.stage("output");
    if (sum_) {
      timer.stage(adds_ ? "addend" : "sort");
      sum_->run(out_);
    }
    entries_ = sum_ ? sum_->entries() : out_.nnz();
    if (drops_zeros_) entries_ = drop_zeros(all(), entries_);
  }

  Result result() override {
    Coo kept(out_.dims, DType::f32, entries_);
    const auto from = all().values.as<float>().first(entries_);
    std::ranges::copy(from, kept.values.as<float>().begin());
    for (std::size_t m = 0; m < kept.indices.size(); ++m)
      std::copy_n(all().indices[m].begin(), entries_, kept.indices[m].begin());
    return kept;
  }

  Executed executed() const override {
    Executed facts = shared_facts(stored(operands_.x), stored(operands_.y), operands_.modes,
                                  {tasks_.pairs(), tasks_.tasks(), tasks_.results()}, arithmetic_);
    const auto products = static_cast<Count>(products_of(arithmetic_));
    facts["kernel"] = "BCB-SpTC with an emulated tensor core";
    facts["mma"] = std::to_string(products * product_.mmas());
    facts["result_nonzeros"] = std::to_string(sum_ ? sum_->entries() : product_.entries());
    if (adds_) facts["z_nonzeros"] = std::to_string(sum_->z_nonzeros());
    facts["threads"] = std::to_string(threads_);
    if (operands_.x.nnz() <= kDrawnNonzeros) facts["layout"] = layout_text(operands_.x);
    return facts;
  }
  Footprint footprint() const override { return {operands_.x.bytes() + operands_.y.bytes(), 0}; }
  Work work() const override { return work_model(problem_); }

 private:
  static constexpr Count kDrawnNonzeros = 16;  // larger tensors are not drawn in rows

  Count entry_bytes() const { return sizeof(Index) * operands_.result_dims.size() + sizeof(float); }
  void make_room(const Room& room) {
    room.require("entries of the result", product_.entries(), entry_bytes());
    out_ = Coo(operands_.result_dims, DType::f32, product_.entries());
  }
  void make_sum(const Room& room, const Addend& addend) {
    room.require("entries of the sum with Z and their keys", product_.entries() + addend.z.nnz(),
                 entry_bytes() + sizeof(Uint128));
    sum_ = std::make_unique<HostSum>(addend, operands_.result_dims, product_.entries());
    sum_->run(out_);
  }
  Coo& all() { return sum_ ? sum_->sum() : out_; }

  static StoredFormat stored(const Bcb& bcb) {
    return {bcb.grid, bcb.options.values, bcb.blocks(), bcb.nnz(), bcb.bytes()};
  }

  const Problem& problem_;
  const Arithmetic arithmetic_;
  const bool drops_zeros_, adds_;
  const int threads_;
  const Operands operands_;
  TaskList tasks_;
  Multiplication product_;
  Coo out_;
  const Addend nothing_;
  std::unique_ptr<HostSum> sum_;
  Count entries_ = 0;  // that the last run left
};

class Cpu : public Method {
 public:
  std::string_view id() const override { return "bcb_sptc.cpu"; }
  std::string_view summary() const override {
    return "sparse tensor contraction on BCB with an emulated tensor core (Algorithms 1 to 4)";
  }
  Backend backend() const override { return Backend::cpu; }
  ParamSchema params() const override {
    auto specs = shared_params();
    specs.push_back({"threads",
                     std::int64_t{0},
                     "OpenMP threads, 0: as many as the machine gives",
                     0,
                     4096,
                     {}});
    return ParamSchema(std::move(specs));
  }
  Support supports(const Problem& problem, const Params& params) const override {
    return supports_contraction(problem, params);
  }
  std::unique_ptr<Prepared> prepare(const Problem& problem, const Params& params) const override {
    return prepare_contraction(problem, params, prepare_bcb_cpu);
  }
  reference::Precision precision(const Problem&, const Params& params) const override {
    return precision_of(arithmetic_of(params), blocking_of(params).values);
  }
};

}  // namespace

std::unique_ptr<Prepared> prepare_bcb_cpu(const Problem& problem, const Params& params,
                                          const Addend& addend) {
  return std::make_unique<CpuRun>(problem, params, addend);
}

std::unique_ptr<Method> make_bcb_cpu() {
  return std::make_unique<Cpu>();
}

}  // namespace retensor::bcb_sptc
