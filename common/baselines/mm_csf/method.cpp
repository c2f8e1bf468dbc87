// mm_csf.cuda: MTTKRP on mixed-mode compressed sparse fibers, one copy of the tensor for all modes.
#include "common/baselines/mm_csf/format.hpp"
#include "common/baselines/mm_csf/prepare.hpp"
#include "common/measure/csf_method.hpp"
#include "common/measure/registry.hpp"

namespace retensor {
namespace mm_csf {
namespace {

Support supports(const Problem& problem, const Params& params) {
  if (const auto csf = supports_csf(problem, params); !csf.ok) return csf;
  if (key_bits(problem.x()) <= 128) return Support::yes();
  return Support::no("a nonzero's coordinate and position need more than 128 bits");
}

MethodSpec make_mm_csf_cuda() {
  return {.id = "mm_csf.cuda",
          .summary =
              "MTTKRP on compressed sparse fibers of mixed modes, one copy for all modes "
              "(MM-CSF)",
          .params = {fiber_limit_param()},
          .operations = {Operation::mttkrp, Operation::mttkrp_all},
          .supports = supports,
          .prepare = RETENSOR_DEVICE_PART(prepare_cuda)};
}

}  // namespace
}  // namespace mm_csf

void register_mm_csf(Registry& registry) {
  registry.add(mm_csf::make_mm_csf_cuda());
}

}  // namespace retensor
