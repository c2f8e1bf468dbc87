// fwc.cuda: MTTKRP fiber by fiber, a copy of the tensor per output mode.
#include "common/baselines/fwc/fwc_cuda.hpp"
#include "common/measure/csf_method.hpp"
#include "common/measure/registry.hpp"

namespace retensor {
namespace fwc {
namespace {

class FwcCuda : public CsfMethod {
 public:
  std::string_view id() const override { return "fwc.cuda"; }
  std::string_view summary() const override {
    return "MTTKRP by inner products of whole fibers with columns of the factors (FWC)";
  }
  std::unique_ptr<Prepared> prepare(const Problem& problem, const Params&) const override {
    return prepare_cuda(problem);
  }
};

}  // namespace

#ifndef RETENSOR_CUDA
std::unique_ptr<Prepared> prepare_cuda(const Problem&) {
  no_cuda();
}
#endif

}  // namespace fwc

void register_fwc(Registry& registry);

void register_fwc(Registry& registry) {
  registry.add(std::make_unique<fwc::FwcCuda>());
}

}  // namespace retensor
