// mm_csf_chain.cuda: TTM-chain on mixed-mode compressed sparse fibers.
#include "common/baselines/hicoo_chain/chain_method.hpp"
#include "common/baselines/mm_csf/format.hpp"
#include "common/measure/csf_method.hpp"
#include "common/measure/registry.hpp"
#include "papers/hlsto/baselines/mm_csf_chain/mm_csf_chain_cuda.hpp"

namespace retensor {

void register_mm_csf_chain(Registry& registry) {
  registry.add(
      {.id = "mm_csf_chain.cuda",
       .summary =
           "TTM-chain on compressed sparse fibers of mixed modes, fibers summed first (MM-CSF)",
       .operations = {Operation::ttm_chain},
       .supports =
           [](const Problem& problem, const Params& params) {
             if (const auto own = chain::supports_chain(problem, params); !own.ok) return own;
             if (mm_csf::key_bits(problem.x()) <= 128) return Support::yes();
             return Support::no("a nonzero's coordinate and position need more than 128 bits");
           },
       .prepare = RETENSOR_DEVICE_PART(mm_csf_chain::prepare_cuda),
       .params = {fiber_limit_param()}});
}

}  // namespace retensor
