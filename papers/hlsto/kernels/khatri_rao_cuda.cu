// The run of hlsto.cuda.khatri_rao; the kernels stand in khatri_rao_cuda.cuh and tuned_cuda.cuh.
#include "papers/hlsto/kernels/khatri_rao_cuda.cuh"

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/device/device.hpp"
#include "papers/hlsto/kernels/hlsto_cuda.hpp"
#include "papers/hlsto/kernels/run_cuda.cuh"

namespace retensor::hlsto {
namespace {

constexpr unsigned kWalkColumns = kProductFragments * kFragmentColumns;

class ProductRun : public HlsRun {
 public:
  ProductRun(const Problem& problem, PreparedHls hls)
      : HlsRun(problem, std::move(hls), Arithmetic::fp16,
               "HLSTO, the Khatri-Rao product as operand", kWalkColumns),
        lists_(list_cells(tensor_, x_, Arithmetic::fp16)) {
    TunedTiles& of = tiles_.of;
    of.tiles = lists_.tiles.data();
    of.places = reinterpret_cast<const uint4*>(lists_.places.data());
    if (x_.tiles > 0) of.values[0] = reinterpret_cast<const uint4*>(lists_.values.front().data());
    of.stride = static_cast<unsigned>(rounded_up(chain_.width, kWalkColumns));
    of.others = 2;
    of.other[0] = x_.mode_at[x_.row], of.other[1] = x_.mode_at[x_.column];
    share_tiles();
    count_bytes(lists_.tiles, lists_.places);
    for (const auto& values : lists_.values) count_bytes(values);
  }

 private:
  ProductTiles::Factor factor(int place) const {
    const int mode = x_.mode_at[place];
    return {x_.factor[mode].rows, static_cast<Index>(chain_.factor[at(mode)].rows)};
  }

  /// Equally many for every warp that the device holds at a time.
  void share_tiles() {
    RETENSOR_CUDA_CHECK(cudaFuncSetAttribute(
        walk_products, cudaFuncAttributeMaxDynamicSharedMemorySize, kProductBytes));
    int at_once = 0;
    RETENSOR_CUDA_CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(
        &at_once, walk_products, kProductThreads, kProductBytes));
    const Count walks = static_cast<Count>(at_once * device::facts().sms) * kProductWarps;
    tiles_.of.tiles_per_warp =
        static_cast<unsigned>(std::max<Count>(1, (x_.tiles + walks - 1) / walks));
    if (x_.tiles > 0)
      tiles_.dense_blocks = device::blocks_for(x_.tiles, kProductWarps * tiles_.of.tiles_per_warp);
  }

  void launch(cudaStream_t stream) override {
    tiles_.columns = factor(x_.column), tiles_.rows = factor(x_.row);
    const unsigned sparse_blocks =
        x_.nonzeros > 0 ? device::blocks_for(x_.nonzeros, kProductNonzeros) : 0;
    const dim3 grid(tiles_.dense_blocks + sparse_blocks, tiles_.of.stride / kWalkColumns);
    RETENSOR_CUDA_LAUNCH(walk_products, grid, kProductThreads, kProductBytes, stream, x_, tiles_);
  }

  const CellLists lists_;
  ProductTiles tiles_;
};

}  // namespace

std::unique_ptr<Prepared> prepare_khatri_rao_cuda(const Problem& problem, const Params& params) {
  // Sparse nonzeros along fibers of the mode that is gathered last.
  const std::array<int, 2> order{problem.mode(), problem.mode() == 0 ? 1 : 0};
  auto hls = prepare_hls(problem.x(), format_options(problem, params), params,
                         [&](DeviceHls& tensor) { sort_sparse(tensor, order); });
  return std::make_unique<ProductRun>(problem, std::move(hls));
}

}  // namespace retensor::hlsto
