// The runs of flycoo.cuda.tuned and flycoo.cuda.copies, and of flycoo.cuda.memoised on whole rows.
#include <algorithm>
#include <memory>

#include "papers/flycoo/kernels/memoised_cuda.cuh"
#include "papers/flycoo/kernels/run_cuda.cuh"

namespace retensor::flycoo {
namespace tuned {

InTiles::InTiles(const Problem& problem, const Params& params, Variant variant)
    : limits(device::facts()) {
  block = block_of(problem, params, variant, limits);
  const Coo& x = problem.x();
  const bool remap = variant == Variant::remapped;
  const Count slots = block.tile / (sizeof(std::uint32_t) * tiled_layout(x.dims, x.dtype()).words);
  const TileOptions options{
      .tile = static_cast<std::uint32_t>(std::min<Count>(slots / 4 * 4, 65536)),
      .unit = 4,
      .processors = static_cast<std::uint32_t>(limits.sms) * block.blocks(remap, limits),
      .remap = remap};
  tensor = params.word("prepare") == "host"
               ? upload(to_tiled(x, options))
               : made_on_device(x, facts, [&](const DeviceCoo& c) { return to_tiled(c, options); });
}

}  // namespace tuned

std::unique_ptr<Prepared> prepare_tuned_cuda(const Problem& problem, const Params& params,
                                             bool remap) {
  tuned::InTiles made(problem, params, remap ? tuned::Variant::remapped : tuned::Variant::copies);
  return dispatch(problem.dtype(), [&]<class T>() -> std::unique_ptr<Prepared> {
    return std::make_unique<tuned::TunedRun<T, T>>(problem, std::move(made));
  });
}

std::unique_ptr<Prepared> prepare_memoised_cuda(const Problem& problem, const Params& params) {
  if (params.word("gather") != "f32") return prepare_narrow_memoised_cuda(problem, params);
  return dispatch(problem.dtype(), [&]<class T>() -> std::unique_ptr<Prepared> {
    return std::make_unique<tuned::MemoisedRun<T, T>>(problem);
  });
}

}  // namespace retensor::flycoo
