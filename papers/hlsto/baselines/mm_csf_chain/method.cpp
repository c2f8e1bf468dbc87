// mm_csf_chain.cuda: TTM-chain on mixed-mode compressed sparse fibers.
#include "common/baselines/hicoo_chain/chain_method.hpp"
#include "common/baselines/mm_csf/format.hpp"
#include "common/method/registry.hpp"
#include "common/run/csf_method.hpp"

namespace retensor {
namespace mm_csf_chain {
Prepare prepare_cuda;  // mm_csf_chain_cuda.cu
}

void register_mm_csf_chain(Registry& registry) {
  registry.add(chain::chain_method({
      .id = "mm_csf_chain.cuda",
      .summary =
          "TTM-chain on compressed sparse fibers of mixed modes, fibers summed first (MM-CSF)",
      .conditions = {mm_csf::supports_keys},
      .prepare = RETENSOR_DEVICE_PART(mm_csf_chain::prepare_cuda),
      .params = {fiber_limit_param()},
  }));
}

}  // namespace retensor
