// cublas.cuda: the product with S as a dense matrix.
#include "common/method/registry.hpp"
#include "papers/tca_spmm/baselines/competitor_method.hpp"

namespace retensor {
namespace cublas {
/// Parameters `types` and `dense`.
std::unique_ptr<Prepared> prepare_cuda(const Problem& problem, const Params& params);
/// Why the library could not be loaded; empty when it was.
std::string missing_library();
}  // namespace cublas

void register_cublas(Registry& registry) {
  registry.add(tca_spmm::competitor_method({
      .id = "cublas.cuda",
      .summary = "dense matrix product by cuBLAS, with the zeros of S stored",
      .conditions = {[](const Problem& problem, const Params&) {
        const Count most = Count{1} << 30;  // 2 GiB in half precision, an own choice
        const auto& dims = problem.x().dims;
        if (dims[1] == 0) return Support::no("found S without columns, which the library refuses");
        const Count stored = (dims[1] + 7) / 8 * 8;  // elements of a row
        if (dims[0] <= most / stored) return Support::yes();
        return Support::no(
            "S stored as a dense matrix, its rows padded to a multiple of 8, would have more than "
            "2^30 elements");
      }},
      .obstacle = RETENSOR_DEVICE_PART(cublas::missing_library),
      .prepare = RETENSOR_DEVICE_PART(cublas::prepare_cuda),
      .params = {tca_spmm::types_param(), tca_spmm::dense_param()},
  }));
}

}  // namespace retensor
