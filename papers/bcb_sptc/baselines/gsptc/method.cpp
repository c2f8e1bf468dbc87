// gsptc.cuda: element-wise contraction in coordinates.
#include "common/measure/registry.hpp"
#include "papers/bcb_sptc/baselines/gsptc/gsptc_cuda.hpp"
#include "papers/bcb_sptc/baselines/matrix_method.hpp"

namespace retensor {
namespace gsptc {

#ifndef RETENSOR_CUDA
std::unique_ptr<Prepared> prepare_cuda(const Problem&) {
  no_cuda();
}
#endif

namespace {

class Gsptc : public bcb_sptc::MatrixMethod {
 public:
  std::string_view id() const override { return "gsptc.cuda"; }
  std::string_view summary() const override {
    return "element-wise contraction in coordinates by sorting products (GSpTC)";
  }
  std::unique_ptr<Prepared> prepare(const Problem& problem, const Params&) const override {
    return prepare_cuda(problem);
  }
};

}  // namespace
}  // namespace gsptc

void register_gsptc(Registry& registry);

void register_gsptc(Registry& registry) {
  registry.add(std::make_unique<gsptc::Gsptc>());
}

}  // namespace retensor
