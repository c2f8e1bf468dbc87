// parti.cuda: MTTKRP on coordinates with atomics, as the ParTI library does it on GPUs.
#include "common/baselines/parti/parti_cuda.hpp"
#include "common/measure/cuda_method.hpp"
#include "common/measure/registry.hpp"

namespace retensor {
namespace parti {
namespace {

class PartiCuda : public CudaMethod {
 public:
  std::string_view id() const override { return "parti.cuda"; }
  std::string_view summary() const override {
    return "MTTKRP on coordinates, one atomic add per nonzero and column (ParTI)";
  }
  ParamSchema params() const override { return {}; }
  std::unique_ptr<Prepared> prepare(const Problem& problem, const Params&) const override {
    return prepare_cuda(problem);
  }

 private:
  Support supports_problem(const Problem& problem, const Params&) const override {
    if (problem.operation() != Operation::mttkrp) return Support::no("only MTTKRP is compared");
    return Support::yes();
  }
};

}  // namespace

#ifndef RETENSOR_CUDA
std::unique_ptr<Prepared> prepare_cuda(const Problem&) {
  no_cuda();
}
#endif

}  // namespace parti

void register_parti(Registry& registry);

void register_parti(Registry& registry) {
  registry.add(std::make_unique<parti::PartiCuda>());
}

}  // namespace retensor
