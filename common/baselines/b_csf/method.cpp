// b_csf.cuda: MTTKRP on balanced compressed sparse fibers, a copy of the tensor per output mode.
#include "common/baselines/b_csf/b_csf_cuda.hpp"
#include "common/baselines/b_csf/format.hpp"
#include "common/measure/csf_method.hpp"
#include "common/measure/registry.hpp"

namespace retensor {
namespace b_csf {
namespace {

class BCsfCuda : public CsfMethod {
 public:
  std::string_view id() const override { return "b_csf.cuda"; }
  std::string_view summary() const override {
    return "MTTKRP on compressed sparse fibers rooted at the output mode, balanced (B-CSF)";
  }
  ParamSchema params() const override {
    return {fiber_limit(),
            {"warp_nonzeros",
             static_cast<std::int64_t>(kWarpNonzeros),
             "nonzeros of a slice for each warp that it gets",
             1,
             1 << 30,
             {}}};
  }
  std::unique_ptr<Prepared> prepare(const Problem& problem, const Params& params) const override {
    return prepare_cuda(problem, params);
  }
};

}  // namespace

#ifndef RETENSOR_CUDA
std::unique_ptr<Prepared> prepare_cuda(const Problem&, const Params&) {
  no_cuda();
}
#endif

}  // namespace b_csf

void register_b_csf(Registry& registry);

void register_b_csf(Registry& registry) {
  registry.add(std::make_unique<b_csf::BCsfCuda>());
}

}  // namespace retensor
