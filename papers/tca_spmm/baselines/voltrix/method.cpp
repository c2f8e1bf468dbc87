// voltrix.cuda: sparse times dense matrix on tensor cores, rows of D fetched ahead.
#include "common/method/registry.hpp"
#include "papers/tca_spmm/baselines/competitor_method.hpp"
#include "papers/tca_spmm/baselines/voltrix/voltrix_cuda.hpp"

namespace retensor {

void register_voltrix(Registry& registry) {
  registry.add(tca_spmm::competitor_method({
      .id = "voltrix.cuda",
      .summary = "sparse times dense matrix on tensor cores from a bit-wise format, with rows of D "
                 "fetched ahead and blocks that take windows in turn (Voltrix-SpMM, ATC 2025)",
      .conditions = {[](const Problem& problem, const Params&) {
        if (problem.x().dims[0] >> 31 == 0) return Support::yes();
        return Support::no("supports fewer than 2^31 rows of S");
      }},
      .prepare = RETENSOR_DEVICE_PART(voltrix::prepare_cuda),
      .params = {param("types", "f16",
                       "types of operands and result; f16_f32: result in single precision")
                     .words({"f16", "f16_f32"})},
  }));
}

}  // namespace retensor
