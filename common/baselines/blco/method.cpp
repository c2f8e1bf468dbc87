// blco.cuda: MTTKRP on blocked linearised coordinates, one copy of the tensor for all modes.
#include "common/baselines/blco/format.hpp"
#include "common/method/registry.hpp"

namespace retensor {

void register_blco(Registry& registry) {
  registry.add({
      .id = "blco.cuda",
      .summary = "MTTKRP on blocked linearised coordinates, one copy for all modes (BLCO)",
      .operations = {Operation::mttkrp, Operation::mttkrp_all},
      .conditions = {[](const Problem& problem, const Params&) {
        if (blco::sorted_bits(problem.x()) <= 128) return Support::yes();
        return Support::no(
            "the linear index and the position of a nonzero need more than 128 bits together");
      }},
      .prepare = RETENSOR_DEVICE_PART(blco::prepare_cuda),
      .params = {param("copies", 8, "partial copies of the output of a mode of at most 100 rows")
                     .range(1, 64)},
  });
}

}  // namespace retensor
