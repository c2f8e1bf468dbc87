// cublas.cuda: the product with S as a dense matrix.
#include "common/measure/registry.hpp"
#include "papers/tca_spmm/baselines/competitor.hpp"
#include "papers/tca_spmm/baselines/cublas/prepare.hpp"

namespace retensor {
namespace cublas {
namespace {

/// Of S as a dense matrix: 2 GiB in half precision, an own choice.
constexpr Count kMostElements = Count{1} << 30;

Support supports(const Problem& problem, const Params& params) {
  if (const auto own = tca_spmm::supports_spmm(problem, params); !own.ok) return own;
  const auto& dims = problem.x().dims;
  if (dims[0] > kMostElements / dims[1])
    return Support::no("S as a dense matrix has more than 2^30 elements");
  return Support::yes();
}

MethodSpec make_cublas_cuda() {
  return {.id = "cublas.cuda",
          .summary = "dense matrix product by cuBLAS, zeros of S stored",
          .params = {tca_spmm::types_param(), tca_spmm::dense_param()},
          .operations = {Operation::spmm},
          .supports = supports,
          .obstacle = RETENSOR_DEVICE_PART(missing_library),
          .prepare = RETENSOR_DEVICE_PART(prepare_cuda),
          .precision = tca_spmm::types_precision};
}

}  // namespace
}  // namespace cublas

void register_cublas(Registry& registry) {
  registry.add(cublas::make_cublas_cuda());
}

}  // namespace retensor
