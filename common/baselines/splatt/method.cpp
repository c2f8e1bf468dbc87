// splatt.cpu.
#include "common/baselines/splatt/splatt_cpu.hpp"
#include "common/method/registry.hpp"

namespace retensor {

void register_splatt(Registry& registry) {
  registry.add({
      .id = "splatt.cpu",
      .summary = "MTTKRP on compressed sparse fibers with OpenMP, a tree per mode (SPLATT)",
      .operations = {Operation::mttkrp},
      .conditions = {[](const Problem& problem, const Params&) {
        return problem.x().order() > 1 ? Support::yes()
                                       : Support::no("a tensor of order 1 has no fibers");
      }},
      .prepare = splatt::prepare_cpu,
      .params = {threads_param()},
      .bytes_per_nonzero = 48,
  });
}

}  // namespace retensor
