// tsparse.cuda: contraction as tSparse multiplies sparse matrices.
#include "common/method/registry.hpp"
#include "papers/bcb_sptc/baselines/matrix_method.hpp"
#include "papers/bcb_sptc/methods/methods.hpp"

namespace retensor {
namespace tsparse {
std::unique_ptr<Prepared> prepare_cuda(const Problem& problem);
}  // namespace tsparse

void register_tsparse(Registry& registry) {
  registry.add(bcb_sptc::matrix_method({
      .id = "tsparse.cuda",
      .summary = "contraction as a product of matrices in tiles of 8 x 8 on tensor cores (tSparse)",
      .precision =
          [](const Problem&, const Params&) {
            return bcb_sptc::precision_of(Arithmetic::fp16, ValueType::f16);
          },
      .prepare = RETENSOR_DEVICE_PART(without_params(tsparse::prepare_cuda)),
  }));
}

}  // namespace retensor
