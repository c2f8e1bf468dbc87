// mm_csf_chain.cuda: TTM-chain on mixed-mode compressed sparse fibers.
#include "common/baselines/hicoo_chain/chain_method.hpp"
#include "common/baselines/mm_csf/format.hpp"
#include "common/measure/csf_method.hpp"
#include "common/measure/registry.hpp"
#include "papers/hlsto/baselines/mm_csf_chain/prepare.hpp"

namespace retensor {
namespace mm_csf_chain {
namespace {

Support supports(const Problem& problem, const Params& params) {
  if (const auto own = chain::supports_chain(problem, params); !own.ok) return own;
  if (mm_csf::key_bits(problem.x()) <= 128) return Support::yes();
  return Support::no("a nonzero's coordinate and position need more than 128 bits");
}

MethodSpec make_mm_csf_chain_cuda() {
  return {.id = "mm_csf_chain.cuda",
          .summary =
              "TTM-chain on compressed sparse fibers of mixed modes, fibers summed first "
              "(MM-CSF)",
          .params = {fiber_limit_param()},
          .operations = {Operation::ttm_chain},
          .supports = supports,
          .prepare = RETENSOR_DEVICE_PART(prepare_cuda)};
}

}  // namespace
}  // namespace mm_csf_chain

void register_mm_csf_chain(Registry& registry) {
  registry.add(mm_csf_chain::make_mm_csf_chain_cuda());
}

}  // namespace retensor
