// gsptc.cuda: element-wise contraction in coordinates.
#include "common/method/registry.hpp"
#include "papers/bcb_sptc/baselines/matrix_method.hpp"

namespace retensor {
namespace gsptc {
std::unique_ptr<Prepared> prepare_cuda(const Problem& problem);
}  // namespace gsptc

void register_gsptc(Registry& registry) {
  registry.add(bcb_sptc::matrix_method({
      .id = "gsptc.cuda",
      .summary = "element-wise contraction in coordinates by sorting products (GSpTC)",
      .prepare = RETENSOR_DEVICE_PART(without_params(gsptc::prepare_cuda)),
  }));
}

}  // namespace retensor
