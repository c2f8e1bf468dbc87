// flycoo.cpu.
#include <memory>
#include <string_view>

#include "papers/flycoo/kernels/flycoo_cpu.hpp"
#include "papers/flycoo/methods/methods.hpp"

namespace retensor::flycoo {
namespace {

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
