// fwc.cuda: MTTKRP fiber by fiber, a copy of the tensor per output mode.
#include "common/baselines/fwc/fwc_cuda.hpp"
#include "common/method/registry.hpp"
#include "common/run/csf_method.hpp"

namespace retensor {

void register_fwc(Registry& registry) {
  registry.add(csf_method({
      .id = "fwc.cuda",
      .summary = "MTTKRP by inner products of whole fibers with columns of the factors (FWC)",
      .prepare = RETENSOR_DEVICE_PART(without_params(fwc::prepare_cuda)),
  }));
}

}  // namespace retensor
