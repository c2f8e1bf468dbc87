// mm_csf.cuda: MTTKRP on mixed-mode compressed sparse fibers, one copy of the tensor for all modes.
#include "common/baselines/mm_csf/format.hpp"
#include "common/method/registry.hpp"
#include "common/run/csf_method.hpp"

namespace retensor {

void register_mm_csf(Registry& registry) {
  registry.add(csf_method({
      .id = "mm_csf.cuda",
      .summary =
          "MTTKRP on compressed sparse fibers of mixed modes, one copy for all modes (MM-CSF)",
      .operations = {Operation::mttkrp, Operation::mttkrp_all},
      .conditions = {mm_csf::supports_keys},
      .prepare = RETENSOR_DEVICE_PART(mm_csf::prepare_cuda),
      .params = {fiber_limit_param()},
  }));
}

}  // namespace retensor
