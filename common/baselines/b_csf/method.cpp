// b_csf.cuda: MTTKRP on balanced compressed sparse fibers, a copy of the tensor per output mode.
#include "common/baselines/b_csf/format.hpp"
#include "common/method/registry.hpp"
#include "common/run/csf_method.hpp"

namespace retensor {

void register_b_csf(Registry& registry) {
  registry.add(csf_method({
      .id = "b_csf.cuda",
      .summary = "MTTKRP on compressed sparse fibers rooted at the output mode, balanced (B-CSF)",
      .prepare = RETENSOR_DEVICE_PART(b_csf::prepare_cuda),
      .params = {fiber_limit_param(), param("warp_nonzeros", b_csf::kWarpNonzeros,
                                            "nonzeros of a slice for each warp that it gets")
                                          .range(1, 1 << 30)},
  }));
}

}  // namespace retensor
