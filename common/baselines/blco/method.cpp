// blco.cuda: MTTKRP on blocked linearised coordinates, one copy of the tensor for all modes.
#include "common/baselines/blco/format.hpp"
#include "common/baselines/blco/prepare.hpp"
#include "common/measure/registry.hpp"

namespace retensor {
namespace blco {
namespace {

Support supports(const Problem& problem, const Params&) {
  if (sorted_bits(problem.x()) <= 128) return Support::yes();
  return Support::no("the linear index and a position need more than 128 bits");
}

MethodSpec make_blco_cuda() {
  return {
      .id = "blco.cuda",
      .summary = "MTTKRP on blocked linearised coordinates, one copy for all modes (BLCO)",
      .params = {param("copies", 8, "partial copies of the output of a mode of at most 100 rows")
                     .range(1, 64)},
      .operations = {Operation::mttkrp, Operation::mttkrp_all},
      .supports = supports,
      .prepare = RETENSOR_DEVICE_PART(prepare_cuda)};
}

}  // namespace
}  // namespace blco

void register_blco(Registry& registry) {
  registry.add(blco::make_blco_cuda());
}

}  // namespace retensor
