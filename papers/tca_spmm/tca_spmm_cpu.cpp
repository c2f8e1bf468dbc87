// tca_spmm.cpu: plan and algorithm of the GPU's form with an emulated tensor core, so that counts,
// balance and errors are the same on any machine; kernels_cpu.hpp has the algorithm.
#include <omp.h>

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>

#include "common/numeric/rounding.hpp"
#include "common/tensor/operations.hpp"
#include "papers/tca_spmm/kernels_cpu.hpp"
#include "papers/tca_spmm/methods.hpp"

namespace retensor::tca_spmm {
namespace {

class CpuRun : public Prepared {
 public:
  CpuRun(const Problem& problem, const Params& params)
      : problem_(problem),
        threads_(params.integer("threads") > 0 ? static_cast<int>(params.integer("threads"))
                                               : omp_get_max_threads()),
        half_output_(params.word("output") == "f16"),
        s_(to_half_csr(to_csr(problem.x()))),
        d_(problem.dense().front(), dense_order(params)),
        plan_(make_plan(s_.row_start, d_.cols(), plan_options(params))),
        out_(s_.rows, d_.cols(), problem.dtype()),
        product_(s_, d_, plan_, out_.view<float>(), threads_) {}

  void run(StageTimer& timer) override {
    timer.stage("zero");
    const auto values = out_.values().as<float>();
    std::fill(values.begin(), values.end(), 0.0f);
    timer.stage("kernel");
    product_.run();
    if (half_output_) std::transform(values.begin(), values.end(), values.begin(), round_fp16);
  }

  Result result() override { return out_; }

  Executed executed() const override {
    Executed facts = plan_facts(plan_, s_.row_start);
    facts["kernel"] = "TCA-SpMM with an emulated tensor core";
    facts["mma"] = std::to_string(product_.mma());
    facts["threads"] = std::to_string(threads_);
    if (s_.nnz() <= kDrawnNonzeros) facts["layout"] = layout_text(plan_, s_.row_start);
    return facts;
  }
  Footprint footprint() const override { return {s_.bytes() + plan_.bytes() + d_.bytes(), 0}; }
  Work work() const override { return work_model(problem_); }

 private:
  static constexpr Count kDrawnNonzeros = 128;  // larger matrices are not drawn in rows

  const Problem& problem_;
  const int threads_;
  const bool half_output_;
  const HalfCsr s_;
  const HalfMatrix d_;
  const Plan plan_;
  Matrix out_;
  Product product_;
};

class Cpu : public Method {
 public:
  std::string_view id() const override { return "tca_spmm.cpu"; }
  std::string_view summary() const override {
    return "sparse times dense matrix by traces of small products, an emulated tensor core "
           "(section "
           "4)";
  }
  Backend backend() const override { return Backend::cpu; }
  ParamSchema params() const override {
    auto specs = kernel_params();
    specs.push_back({"threads",
                     std::int64_t{0},
                     "OpenMP threads, 0: as many as the machine gives",
                     0,
                     4096,
                     {}});
    return ParamSchema(std::move(specs));
  }
  Support supports(const Problem& problem, const Params& params) const override {
    return supports_kernel(problem, params);
  }
  std::unique_ptr<Prepared> prepare(const Problem& problem, const Params& params) const override {
    return std::make_unique<CpuRun>(problem, params);
  }
  reference::Precision precision(const Problem&, const Params& params) const override {
    return kernel_precision(params);
  }
};

}  // namespace

std::unique_ptr<Method> make_tca_spmm_cpu() {
  return std::make_unique<Cpu>();
}

}  // namespace retensor::tca_spmm
