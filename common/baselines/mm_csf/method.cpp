// mm_csf.cuda: MTTKRP on mixed-mode compressed sparse fibers, one copy of the tensor for all modes.
#include "common/baselines/mm_csf/format.hpp"
#include "common/baselines/mm_csf/mm_csf_cuda.hpp"
#include "common/measure/csf_method.hpp"
#include "common/measure/registry.hpp"

namespace retensor {
namespace mm_csf {
namespace {

class MmCsfCuda : public CsfMethod {
 public:
  std::string_view id() const override { return "mm_csf.cuda"; }
  std::string_view summary() const override {
    return "MTTKRP on compressed sparse fibers of mixed modes, one copy for all modes (MM-CSF)";
  }
  ParamSchema params() const override { return {fiber_limit()}; }
  bool takes_all_modes() const override { return true; }
  std::unique_ptr<Prepared> prepare(const Problem& problem, const Params& params) const override {
    return prepare_cuda(problem, params);
  }

 private:
  Support supports_problem(const Problem& problem, const Params& params) const override {
    if (const auto csf = CsfMethod::supports_problem(problem, params); !csf.ok) return csf;
    return key_bits(problem.x()) <= 128
               ? Support::yes()
               : Support::no("a nonzero's coordinate and position need more than 128 bits");
  }
};

}  // namespace

#ifndef RETENSOR_CUDA
std::unique_ptr<Prepared> prepare_cuda(const Problem&, const Params&) {
  no_cuda();
}
#endif

}  // namespace mm_csf

void register_mm_csf(Registry& registry);

void register_mm_csf(Registry& registry) {
  registry.add(std::make_unique<mm_csf::MmCsfCuda>());
}

}  // namespace retensor
