// The runs with eight columns a lane: flycoo.cuda.wide, and flycoo.cuda.memoised in 16 bits.
#include <memory>
#include <string>
#include <utility>

#include "papers/flycoo/kernels/gathered_rows_cuda.cuh"
#include "papers/flycoo/kernels/memoised_cuda.cuh"

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

std::unique_ptr<Prepared> prepare_narrow_memoised_cuda(const Problem& problem,
                                                       const Params& params) {
  if (params.word("gather") == "f16")
    return std::make_unique<tuned::MemoisedRun<float, __half>>(problem);
  return std::make_unique<tuned::MemoisedRun<float, __nv_bfloat16>>(problem);
}

}  // namespace retensor::flycoo
