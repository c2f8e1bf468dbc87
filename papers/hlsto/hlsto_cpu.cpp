// hlsto.cpu: the format and the algorithm of the GPU's form with an emulated tensor core, so that
// sizes, counts and errors are the same on any machine; kernels_cpu.hpp has the algorithm.
#include <omp.h>

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>

#include "papers/hlsto/kernels_cpu.hpp"
#include "papers/hlsto/methods.hpp"

namespace retensor::hlsto {
namespace {

class CpuRun : public Prepared {
 public:
  CpuRun(const Problem& problem, const Params& params)
      : problem_(problem),
        chain_(problem),
        arithmetic_(arithmetic_of(params)),
        threads_(params.integer("threads") > 0 ? static_cast<int>(params.integer("threads"))
                                               : omp_get_max_threads()),
        hls_(to_hls(problem.x(), format_options(problem, params))),
        out_(problem.x().dims[static_cast<std::size_t>(problem.mode())], chain_.width,
             problem.dtype()),
        product_(hls_, chain_, arithmetic_, out_.view<float>(), threads_) {}

  void run(StageTimer& timer) override {
    timer.stage("zero");
    const auto values = out_.values().as<float>();
    std::fill(values.begin(), values.end(), 0.0f);
    timer.stage("kernel");
    product_.run();
  }

  Result result() override { return out_; }

  Executed executed() const override {
    Executed facts = format_facts(hls_);
    facts["kernel"] = "HLSTO with an emulated tensor core";
    facts["precision"] = std::string(name(arithmetic_));
    facts["mma"] = std::to_string(mma_count(hls_, chain_, arithmetic_));
    facts["threads"] = std::to_string(threads_);
    if (hls_.nnz() <= kDrawnNonzeros) facts["layout"] = layout_text(hls_);
    return facts;
  }
  Footprint footprint() const override { return {hls_.bytes(), 0}; }
  Work work() const override { return work_model(problem_); }

 private:
  static constexpr Count kDrawnNonzeros = 16;  // larger tensors are not drawn in rows

  const Problem& problem_;
  const Chain chain_;
  const Arithmetic arithmetic_;
  const int threads_;
  const Hls hls_;
  Matrix out_;
  Product product_;
};

class Cpu : public Method {
 public:
  std::string_view id() const override { return "hlsto.cpu"; }
  std::string_view summary() const override {
    return "MTTKRP and TTM-chain on HLS, an emulated tensor core for dense tiles (Algorithm 1)";
  }
  Backend backend() const override { return Backend::cpu; }
  ParamSchema params() const override {
    auto specs = format_params(false);
    specs.push_back({"threads",
                     std::int64_t{0},
                     "OpenMP threads, 0: as many as the machine gives",
                     0,
                     4096,
                     {}});
    return ParamSchema(std::move(specs));
  }
  Support supports(const Problem& problem, const Params& params) const override {
    return supports_format(problem, params);
  }
  std::unique_ptr<Prepared> prepare(const Problem& problem, const Params& params) const override {
    return std::make_unique<CpuRun>(problem, params);
  }
  reference::Precision precision(const Problem& problem, const Params& params) const override {
    return precision_of(arithmetic_of(params), format_options(problem, params).values);
  }
};

}  // namespace

std::unique_ptr<Method> make_hlsto_cpu() {
  return std::make_unique<Cpu>();
}

}  // namespace retensor::hlsto
