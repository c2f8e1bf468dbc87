// The run of flycoo.cuda.wide: the tuned kernels on copies, with eight columns a lane.
#include <memory>
#include <string>
#include <utility>

#include "papers/flycoo/kernels/gathered_rows_cuda.cuh"

namespace retensor::flycoo {

std::unique_ptr<Prepared> prepare_wide_cuda(const Problem& problem, const Params& params) {
  tuned::InTiles made(problem, params, tuned::Variant::wide);
  const std::string& gather = params.word("gather");
  if (gather == "f16")
    return std::make_unique<tuned::TunedRun<float, __half>>(problem, std::move(made));
  if (gather == "bf16")
    return std::make_unique<tuned::TunedRun<float, __nv_bfloat16>>(problem, std::move(made));
  return std::make_unique<tuned::TunedRun<float, Whole>>(problem, std::move(made));
}

}  // namespace retensor::flycoo
