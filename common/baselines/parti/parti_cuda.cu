// The run of parti.cuda; the kernel stands in mttkrp.cuh.
#include "common/baselines/parti/mttkrp.cuh"
#include "common/baselines/parti/prepare.hpp"

namespace retensor::parti {

std::unique_ptr<Prepared> prepare_cuda(const Problem& problem) {
  return dispatch(problem.dtype(), [&]<class T>() -> std::unique_ptr<Prepared> {
    return std::make_unique<CooMttkrpRun<T>>(problem, "ParTI COO");
  });
}

}  // namespace retensor::parti
