// tca_spmm.cpu.
#include <memory>
#include <string_view>

#include "papers/tca_spmm/kernels/tca_spmm_cpu.hpp"
#include "papers/tca_spmm/methods/methods.hpp"

namespace retensor::tca_spmm {
namespace {

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
