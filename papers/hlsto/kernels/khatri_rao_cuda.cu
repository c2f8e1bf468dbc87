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
    tiles_.tiles = lists_.tiles.data();
    tiles_.places = reinterpret_cast<const uint4*>(lists_.places.data());
    if (x_.tiles > 0)
      tiles_.values[0] = reinterpret_cast<const uint4*>(lists_.values.front().data());
    tiles_.stride = static_cast<unsigned>(rounded_up(chain_.width, kWalkColumns));
    tiles_.column_blocks = layout_.column_blocks = tiles_.stride / kFragmentColumns;
    tiles_.others = 2;
    tiles_.other[0] = x_.mode_at[x_.row], tiles_.other[1] = x_.mode_at[x_.column];
    layout_.fragment_vectors = tiles_of(x_.column) * tiles_.column_blocks * 32;
    layout_.weight_vectors =
        tiles_of(x_.row) * kFragmentEdge * tiles_.stride * sizeof(std::uint16_t) / sizeof(uint4);
    fragments_ = Buffer<uint4>(layout_.fragment_vectors);
    weights_ = Buffer<uint4>(layout_.weight_vectors);
    tiles_.fragments[0] = layout_.fragments[0] = fragments_.data();
    tiles_.weights = layout_.weights = weights_.data();
    share_tiles();
    count_bytes(lists_.tiles, lists_.places, fragments_, weights_);
    for (const auto& values : lists_.values) count_bytes(values);
  }

 private:
  Count tiles_of(int place) const {
    return rounded_up(factor(place).count, kFragmentEdge) / kFragmentEdge;
  }
  FactorRows factor(int place) const {
    const int mode = x_.mode_at[place];
    return {x_.factor[mode].rows, chain_.factor[at(mode)].rows, tiles_.stride};
  }

  /// Equally many for every warp that the device holds at a time.
  void share_tiles() {
    RETENSOR_CUDA_CHECK(cudaFuncSetAttribute(
        walk_products, cudaFuncAttributeMaxDynamicSharedMemorySize, kProductBytes));
    int at_once = 0;
    RETENSOR_CUDA_CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(
        &at_once, walk_products, 32 * kProductWarps, kProductBytes));
    sms_ = static_cast<unsigned>(device::facts().sms);
    const Count walks = Count{static_cast<unsigned>(at_once) * sms_} * kProductWarps;
    tiles_.tiles_per_warp =
        static_cast<unsigned>(std::max<Count>(1, (x_.tiles + walks - 1) / walks));
  }

  void launch(cudaStream_t stream) override {
    const unsigned columns = tiles_.column_blocks / kProductFragments;
    if (x_.tiles > 0) walk(columns, stream);
    constexpr Count kOfBlock = kSparseThreads / (4 * kProductFragments) * kGroupNonzeros;
    const dim3 sparse(device::blocks_for(x_.nonzeros, kOfBlock), columns);
    if (x_.nonzeros == 0) return;
    // A long part takes longer beside the tiles than after them.
    if (x_.tiles > 0 && sparse.x <= sms_)
      device::launch_beside(add_sparse_beside, sparse, kSparseThreads, 0, stream, x_, tiles_);
    else
      RETENSOR_CUDA_LAUNCH((add_sparse<kProductFragments, 2>), sparse, kSparseThreads, 0, stream,
                           x_, tiles_);
  }

  /// The factors may have changed since the last run, so that each lays them out.
  void walk(unsigned columns, cudaStream_t stream) {
    layout_.columns = factor(x_.column), layout_.rows = factor(x_.row);
    constexpr Count kMostBlocks = 1024;
    const unsigned blocks = device::blocks_for(layout_.fragment_vectors + layout_.weight_vectors,
                                               kLayoutThreads, kMostBlocks);
    RETENSOR_CUDA_LAUNCH(lay_out_for_walks, blocks, kLayoutThreads, 0, stream, layout_);
    const dim3 grid(device::blocks_for(x_.tiles, kProductWarps * tiles_.tiles_per_warp), columns);
    device::launch_beside(walk_products, grid, 32 * kProductWarps, kProductBytes, stream, x_,
                          tiles_);
  }

  const CellLists lists_;
  Buffer<uint4> fragments_, weights_;  // of the columns' and the rows' factor
  FactorLayout layout_;
  TunedTiles tiles_;
  unsigned sms_ = 0;
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
