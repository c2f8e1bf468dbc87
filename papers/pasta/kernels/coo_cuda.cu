// Runs of pasta.cuda.coo: the paper's kernels on coordinates (section III.B.2). MTTKRP is ParTI's,
// which the section adopts.
#include "common/baselines/parti/parti_cuda.cuh"
#include "papers/pasta/kernels/prepare_cuda.hpp"
#include "papers/pasta/kernels/run_cuda.cuh"

namespace retensor::pasta {
std::unique_ptr<Prepared> prepare_coo_cuda(const Problem& problem, const Params&) {
  return dispatch(problem.dtype(), [&]<class T>() -> std::unique_ptr<Prepared> {
    switch (problem.operation()) {
      case Operation::tew:
        return std::make_unique<ElementwiseRun<T>>(problem, problem.x(), problem.y(),
                                                   "COO-TEW-GPU");
      case Operation::ts:
        return std::make_unique<ElementwiseRun<T>>(problem, problem.x(), Coo(), "COO-TS-GPU");
      case Operation::ttv:
      case Operation::ttm:
        return std::make_unique<PaperFiberRun<T>>(
            problem, fiber_arrays(problem.x(), problem.mode()),
            problem.operation() == Operation::ttv ? "COO-TTV-GPU" : "COO-TTM-GPU");
      default:
        return std::make_unique<parti::CooMttkrpRun<T>>(problem, "COO-MTTKRP-GPU");
    }
  });
}

}  // namespace retensor::pasta
