// hlsto.cpu.
#include <memory>
#include <string_view>

#include "papers/hlsto/format/options.hpp"
#include "papers/hlsto/kernels/hlsto_cpu.hpp"
#include "papers/hlsto/methods/methods.hpp"

namespace retensor::hlsto {
namespace {

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
