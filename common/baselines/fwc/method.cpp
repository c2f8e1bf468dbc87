// fwc.cuda: MTTKRP fiber by fiber, a copy of the tensor per output mode.
#include "common/method/registry.hpp"
#include "common/run/csf_method.hpp"

namespace retensor {
namespace fwc {
Prepare prepare_cuda;  // fwc_cuda.cu
}

void register_fwc(Registry& registry) {
  registry.add(csf_method({
      .id = "fwc.cuda",
      .summary = "MTTKRP by inner products of whole fibers with columns of the factors (FWC)",
      .prepare = RETENSOR_DEVICE_PART(fwc::prepare_cuda),
  }));
}

}  // namespace retensor
