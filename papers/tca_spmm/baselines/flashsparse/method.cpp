// flashsparse.cuda: sparse times dense matrix with rows of S as an MMA's columns.
#include "common/method/registry.hpp"
#include "papers/tca_spmm/baselines/competitor_method.hpp"
#include "papers/tca_spmm/baselines/flashsparse/flashsparse_cuda.hpp"

namespace retensor {

void register_flashsparse(Registry& registry) {
  registry.add(tca_spmm::competitor_method({
      .id = "flashsparse.cuda",
      .summary = "sparse times dense matrix by vectors of 8 x 1 on tensor cores, both operands "
                 "swapped (Shi et al., PPoPP 2025)",
      .conditions = {[](const Problem& problem, const Params&) {
        if (problem.x().dims[0] >> 31 == 0) return Support::yes();
        return Support::no("supports fewer than 2^31 rows of S");
      }},
      .prepare = RETENSOR_DEVICE_PART(flashsparse::prepare_cuda),
      .params = {param("types", "f16",
                       "types of operands and result; f16_f32: result in single precision")
                     .words({"f16", "f16_f32"})},
  }));
}

}  // namespace retensor
