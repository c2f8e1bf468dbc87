// dbcsr.cuda: contraction in dense blocks, as DBCSR multiplies matrices.
#include "common/measure/registry.hpp"
#include "papers/bcb_sptc/baselines/dbcsr/prepare.hpp"
#include "papers/bcb_sptc/baselines/matrix_method.hpp"

namespace retensor {
namespace dbcsr {
namespace {

MethodSpec make_dbcsr_cuda() {
  return {.id = "dbcsr.cuda",
          .summary = "contraction as a product of matrices in dense blocks of 8 x 8 (DBCSR)",
          .operations = {Operation::contraction},
          .supports = bcb_sptc::supports_matrix,
          .prepare = RETENSOR_DEVICE_PART(without_params(prepare_cuda))};
}

}  // namespace
}  // namespace dbcsr

void register_dbcsr(Registry& registry) {
  registry.add(dbcsr::make_dbcsr_cuda());
}

}  // namespace retensor
