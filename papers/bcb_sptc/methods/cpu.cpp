// bcb_sptc.cpu.
#include <memory>
#include <string_view>

#include "papers/bcb_sptc/format/options.hpp"
#include "papers/bcb_sptc/format/products.hpp"
#include "papers/bcb_sptc/kernels/bcb_sptc_cpu.hpp"
#include "papers/bcb_sptc/methods/methods.hpp"

namespace retensor::bcb_sptc {
namespace {

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
