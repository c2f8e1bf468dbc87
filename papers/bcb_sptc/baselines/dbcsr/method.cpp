// dbcsr.cuda: contraction in dense blocks, as DBCSR multiplies matrices.
#include "common/method/registry.hpp"
#include "papers/bcb_sptc/baselines/matrix_method.hpp"

namespace retensor {
namespace dbcsr {
std::unique_ptr<Prepared> prepare_cuda(const Problem& problem);
}  // namespace dbcsr

void register_dbcsr(Registry& registry) {
  registry.add(bcb_sptc::matrix_method({
      .id = "dbcsr.cuda",
      .summary = "contraction as a product of matrices in dense blocks of 8 x 8 (DBCSR)",
      .prepare = RETENSOR_DEVICE_PART(without_params(dbcsr::prepare_cuda)),
  }));
}

}  // namespace retensor
