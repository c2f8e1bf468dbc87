// The run of hlsto.cuda.tuned; the kernels stand in tuned_cuda.cuh.

#include <algorithm>
#include <ranges>
#include <string>
#include <utility>
#include <vector>

#include "common/device/device.hpp"
#include "papers/hlsto/kernels/hlsto_cuda.hpp"
#include "papers/hlsto/kernels/run_cuda.cuh"
#include "papers/hlsto/kernels/tuned_cuda.cuh"

namespace retensor::hlsto {
namespace {

/// All modes but the output's, the longest first.
std::vector<int> others_of(const Problem& problem) {
  auto modes = longest_first(problem.x().dims);
  std::erase(modes, problem.mode());
  return modes;
}

/// Fragments of 16 columns that a warp takes at a time.
unsigned fragments_for(Count width) {
  return width <= kFragmentColumns ? 1 : 2;
}

struct TunedLaunch {
  void (*kernel)(DeviceChain, TunedTiles) = nullptr;
  dim3 grid;
  unsigned threads = 0, shared = 0;  // of a thread block; bytes
};

class TunedRun : public HlsRun {
 public:
  TunedRun(const Problem& problem, PreparedHls hls, Arithmetic arithmetic)
      : HlsRun(problem, std::move(hls), arithmetic, "HLSTO, the diagonal alone",
               fragments_for(problem.rank()) * kFragmentColumns),
        lists_(list_cells(tensor_, x_, arithmetic)),
        fragments_(fragments_for(chain_.width)) {
    tiles_.tiles = lists_.tiles.data();
    tiles_.places = reinterpret_cast<const uint4*>(lists_.places.data());
    for (std::size_t p = 0; p < lists_.values.size(); ++p)
      tiles_.values[p] = reinterpret_cast<const uint4*>(lists_.values[p].data());
    tiles_.stride = static_cast<unsigned>(rounded_up(chain_.width, fragments_ * kFragmentColumns));
    tiles_.column_blocks = tiles_.stride / kFragmentColumns;
    for (const int m : std::views::reverse(others_of(problem))) tiles_.other[tiles_.others++] = m;
    set_layout();
    with_narrow_arithmetic(arithmetic, [this]<Arithmetic kArithmetic>() {
      fragments_ == 1 ? choose<kArithmetic, 1>() : choose<kArithmetic, 2>();
    });
    count_bytes(lists_.tiles, lists_.places, weights_);
    for (const auto& part : lists_.values) count_bytes(part);
    for (const auto& part : operands_) count_bytes(part);
    // In units of 16 x 16 x 16, two m16n8k16 each.
    executed_["mma"] = std::to_string(tensor_.dense_tiles * kFragmentEdge * tiles_.column_blocks *
                                      static_cast<Count>(products_of(arithmetic)));
  }

  /// The factors may have changed since the last run, which lays them out again.
  void run(StageTimer& timer) override {
    timer.stage("convert");
    layout_.columns = factor(x_.column), layout_.rows = factor(x_.row);
    if (x_.tiles > 0)
      RETENSOR_CUDA_LAUNCH(lay_out_, lay_out_grid_, kLayoutThreads, 0, stream_of(timer), layout_);
    HlsRun::run(timer);
  }

 private:
  unsigned column_walks() const { return tiles_.column_blocks / fragments_; }
  FactorRows factor(int place) const {
    const int mode = x_.mode_at[place];
    return {x_.factor[mode].rows, chain_.factor[at(mode)].rows, tiles_.stride};
  }

  /// Makes room for the factors as the tensor core wants them.
  void set_layout() {
    const auto tiles = [this](int place) {
      return rounded_up(factor(place).count, kFragmentEdge) / kFragmentEdge;
    };
    layout_.column_blocks = tiles_.column_blocks;
    layout_.fragment_vectors = tiles(x_.column) * tiles_.column_blocks * 32;
    for (int p = 0; p < parts_of(arithmetic_); ++p) {
      operands_.emplace_back(layout_.fragment_vectors);
      tiles_.fragments[p] = layout_.fragments[p] = operands_.back().data();
    }
    const Count element =
        arithmetic_ == Arithmetic::split_fp16 ? sizeof(float) : sizeof(std::uint16_t);
    layout_.weight_vectors =
        tiles(x_.row) * kFragmentEdge * tiles_.stride * element / sizeof(uint4);
    weights_ = Buffer<uint4>(layout_.weight_vectors);
    tiles_.weights = layout_.weights = weights_.data();
    const Count blocks = (layout_.fragment_vectors + layout_.weight_vectors) / kLayoutThreads;
    const Count at_once = 8 * static_cast<Count>(device::facts().sms);
    lay_out_grid_ = static_cast<unsigned>(std::clamp<Count>(blocks, 1, at_once));
  }

  void launch(cudaStream_t stream) override {
    if (x_.tiles > 0)
      RETENSOR_CUDA_LAUNCH(tile_.kernel, tile_.grid, tile_.threads, tile_.shared, stream, x_,
                           tiles_);
    if (x_.nonzeros > 0)
      RETENSOR_CUDA_LAUNCH(sparse_.kernel, sparse_.grid, sparse_.threads, 0, stream, x_, tiles_);
  }

  template <Arithmetic kArithmetic, int kFragments>
  void choose() {
    using Block = TunedBlock<kArithmetic>;
    lay_out_ = lay_out_factors<kArithmetic, kFragments>;
    tile_.kernel = x_.order > kTiledModes ? walk_tiles<kArithmetic, kFragments, true>
                                          : walk_tiles<kArithmetic, kFragments, false>;
    tile_.threads = 32 * Block::kWarps, tile_.shared = Block::kBytes;
    RETENSOR_CUDA_CHECK(cudaFuncSetAttribute(
        tile_.kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(tile_.shared)));
    int at_once = 0;
    RETENSOR_CUDA_CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(
        &at_once, tile_.kernel, static_cast<int>(tile_.threads), tile_.shared));
    const Count walks =
        static_cast<Count>(at_once) * Block::kWarps * static_cast<Count>(device::facts().sms);
    tiles_.tiles_per_warp =
        static_cast<unsigned>(std::max<Count>(1, (x_.tiles + walks - 1) / walks));
    tile_.grid =
        dim3(device::blocks_for(x_.tiles, Block::kWarps * tiles_.tiles_per_warp), column_walks());

    sparse_.kernel = tiles_.others == 2   ? add_sparse<kFragments, 2>
                     : tiles_.others == 3 ? add_sparse<kFragments, 3>
                                          : add_sparse<kFragments, 4>;
    sparse_.threads = kSparseThreads;
    const Count of_block = kSparseThreads / (4 * kFragments) * kGroupNonzeros;
    sparse_.grid = dim3(device::blocks_for(x_.nonzeros, of_block), column_walks());
  }

  const CellLists lists_;
  const unsigned fragments_;
  std::vector<Buffer<uint4>> operands_;  // of the columns' factor, by part
  Buffer<uint4> weights_;                // of the rows' factor
  FactorLayout layout_;
  void (*lay_out_)(FactorLayout) = nullptr;
  unsigned lay_out_grid_ = 1;
  TunedTiles tiles_;
  TunedLaunch tile_, sparse_;
};

/// The output's mode is tiled, with the two longest others: a result row of a kept mode would be
/// one of all slices.
Options tuned_options(const Problem& problem, const Params& params) {
  Options options = format_options(problem, params);
  const auto others = others_of(problem);
  options.tiled = {problem.mode(), others[0], others[1]};
  std::ranges::sort(options.tiled);
  return options;
}

/// The output's mode, then the others but the longest, along which fibers lie.
std::vector<int> sparse_order(const Problem& problem) {
  auto modes = others_of(problem);
  modes.push_back(problem.mode());
  std::ranges::reverse(modes);
  modes.pop_back();
  return modes;
}

}  // namespace

std::unique_ptr<Prepared> prepare_tuned_cuda(const Problem& problem, const Params& params) {
  auto hls = prepare_hls(problem.x(), tuned_options(problem, params), params,
                         [&](DeviceHls& tensor) { sort_sparse(tensor, sparse_order(problem)); });
  return std::make_unique<TunedRun>(problem, std::move(hls), arithmetic_of(params));
}

}  // namespace retensor::hlsto
