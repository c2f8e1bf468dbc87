// cusparse_spgemm.cuda: contraction as NVIDIA's product of two sparse matrices.
#include "common/measure/registry.hpp"
#include "papers/bcb_sptc/baselines/cusparse_spgemm/prepare.hpp"
#include "papers/bcb_sptc/baselines/matrix_method.hpp"

namespace retensor {
namespace cusparse_spgemm {
namespace {

MethodSpec make_cusparse_spgemm_cuda() {
  return {.id = "cusparse_spgemm.cuda",
          .summary = "contraction as a product of two matrices in CSR by cuSPARSE",
          .params = {param("algorithm", "alg1",
                           "of cusparseSpGEMM: alg1 is the fastest and takes the most memory")
                         .words({"alg1", "alg2", "alg3"})},
          .operations = {Operation::contraction},
          .supports = bcb_sptc::supports_matrix,
          .obstacle = RETENSOR_DEVICE_PART(library_refusal),
          .prepare = RETENSOR_DEVICE_PART(prepare_cuda)};
}

}  // namespace
}  // namespace cusparse_spgemm

void register_cusparse_spgemm(Registry& registry) {
  registry.add(cusparse_spgemm::make_cusparse_spgemm_cuda());
}

}  // namespace retensor
