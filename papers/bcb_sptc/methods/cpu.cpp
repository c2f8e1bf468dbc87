// bcb_sptc.cpu.
#include <memory>

#include "papers/bcb_sptc/kernels/bcb_sptc_cpu.hpp"
#include "papers/bcb_sptc/methods/methods.hpp"

namespace retensor::bcb_sptc {

std::unique_ptr<Prepared> prepare_bcb_cpu(const Problem& problem, const Params& params,
                                          const Addend& addend) {
  return std::make_unique<CpuRun>(problem, params, addend);
}

MethodSpec make_bcb_cpu() {
  return blocks_method({
      .id = "bcb_sptc.cpu",
      .summary =
          "sparse tensor contraction on BCB with an emulated tensor core (Algorithms 1 to 4)",
      .prepare =
          [](const Problem& problem, const Params& params) {
            return prepare_contraction(problem, params, prepare_bcb_cpu);
          },
      .params = {threads_param()},
      .form = {.emulates = true},
  });
}

}  // namespace retensor::bcb_sptc
