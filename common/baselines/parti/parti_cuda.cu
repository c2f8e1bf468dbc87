// The run of parti.cuda; the kernel stands in parti_cuda.cuh.
#include "common/baselines/parti/parti_cuda.cuh"
#include "common/baselines/parti/parti_cuda.hpp"

namespace retensor::parti {

std::unique_ptr<Prepared> prepare_cuda(const Problem& problem) {
  return dispatch(problem.dtype(), [&]<class T>() -> std::unique_ptr<Prepared> {
    return std::make_unique<CooMttkrpRun<T>>(problem, "ParTI COO");
  });
}

}  // namespace retensor::parti
