// flycoo.cpu.
#include "papers/flycoo/kernels/flycoo_cpu.hpp"
#include "papers/flycoo/methods/methods.hpp"

namespace retensor::flycoo {

MethodSpec make_flycoo_cpu() {
  return passes_method({
      .id = "flycoo.cpu",
      .summary =
          "MTTKRP over all modes with remapping in the pass, threads as thread blocks (FLYCOO "
          "Algorithms 2 to 5)",
      .conditions = {supports_format},
      .prepare = prepare_flycoo_cpu,
      .params = format_params("threads").with({threads_param()}),
      .default_of_passes = true,
      .bytes_per_nonzero = 95,
  });
}

}  // namespace retensor::flycoo
