// hash_spgemm.cuda: product of sparse matrices with hash tables and dense sums by the rows' sizes.
#include "common/method/registry.hpp"
#include "papers/bcb_sptc/baselines/hash_spgemm/hash_spgemm_cuda.hpp"
#include "papers/bcb_sptc/baselines/matrix_method.hpp"

namespace retensor {

void register_hash_spgemm(Registry& registry) {
  registry.add(bcb_sptc::matrix_method({
      .id = "hash_spgemm.cuda",
      .summary =
          "product of sparse matrices in two passes with hash tables in shared memory, dense "
          "sums for long rows (spECK, OpSparse)",
      .prepare = RETENSOR_DEVICE_PART(without_params(hash_spgemm::prepare_cuda)),
  }));
}

}  // namespace retensor
