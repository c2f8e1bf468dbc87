// cusparse_spgemm.cuda: contraction as NVIDIA's product of two sparse matrices.
#include "common/method/registry.hpp"
#include "papers/bcb_sptc/baselines/matrix_method.hpp"

namespace retensor {
namespace cusparse_spgemm {
/// Why the library could not be loaded; empty where it was.
std::string missing_library();
/// Parameter `algorithm`.
std::unique_ptr<Prepared> prepare_cuda(const Problem& problem, const Params& params);
}  // namespace cusparse_spgemm

void register_cusparse_spgemm(Registry& registry) {
  registry.add(bcb_sptc::matrix_method({
      .id = "cusparse_spgemm.cuda",
      .summary = "contraction as a product of two matrices in CSR by cuSPARSE",
      .obstacle = RETENSOR_DEVICE_PART(cusparse_spgemm::missing_library),
      .prepare = RETENSOR_DEVICE_PART(cusparse_spgemm::prepare_cuda),
      .params = {param(
                     "algorithm", "alg1",
                     "algorithm of cusparseSpGEMM: alg1 is the fastest and takes the most memory; "
                     "reuse: cusparseSpGEMMreuse, the pattern first")
                     .words({"alg1", "alg2", "alg3", "reuse"})},
      .converts_least = true,
  }));
}

}  // namespace retensor
