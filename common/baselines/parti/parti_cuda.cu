// The run of parti.cuda; the kernel stands in parti_cuda.cuh.
#include "common/baselines/parti/parti_cuda.cuh"

namespace retensor::parti {

std::unique_ptr<Prepared> prepare_cuda(const Problem& problem, const Params&) {
  return make_typed_run<CooMttkrpRun>(problem, "ParTI COO");
}

}  // namespace retensor::parti
