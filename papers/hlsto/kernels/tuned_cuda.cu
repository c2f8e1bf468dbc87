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

/// A factor as A operands of m16n8k16: of 16 rows and 16 columns lane l has columns l / 4 and 8
/// further on of those that `factor_column` deals out, in rows 2 (l % 4), the next, and both 8
/// further on.
std::vector<uint4> fragments_of(MatrixView<const float> factor, unsigned column_blocks,
                                unsigned fragments, Arithmetic arithmetic, int part) {
  const Count tiles = rounded_up(factor.rows, kFragmentEdge) / kFragmentEdge;
  std::vector<uint4> operands(tiles * column_blocks * 32);
  const auto element = [&](Count row, Count column) -> std::uint32_t {
    return row < factor.rows && column < factor.cols
               ? operand_bits(factor(row, column), arithmetic, part)
               : operand_bits(0, arithmetic, part);
  };
  for (Count t = 0; t < tiles; ++t)
    for (unsigned n = 0; n < column_blocks; ++n)
      for (unsigned lane = 0; lane < 32; ++lane) {
        const Count first = t * kFragmentEdge + lane % 4 * 2;
        const unsigned walk = n / fragments * fragments * kFragmentColumns;
        const auto pair = [&](Count row, unsigned of_fragment) {
          const Count column = walk + factor_column(fragments, n % fragments, of_fragment);
          return element(row, column) | element(row + 1, column) << 16;
        };
        const unsigned q = lane / 4;
        operands[(t * column_blocks + n) * 32 + lane] = {
            pair(first, q), pair(first, q + 8), pair(first + 8, q), pair(first + 8, q + 8)};
      }
  return operands;
}

/// A factor as `Weights` of so many columns a lane, by tiles of 16 rows and by walks; zeros beyond
/// its ends. T holds an element, which `convert` makes.
template <class T, class Convert>
std::vector<T> weights_of(MatrixView<const float> factor, unsigned walks, unsigned columns,
                          Convert&& convert) {
  const unsigned slices = sizeof(uint4) / sizeof(T) / columns, of_walk = 8 * columns;
  std::vector<T> weights(rounded_up(factor.rows, kFragmentEdge) * walks * of_walk);
  for (Count i = 0; i < factor.rows; ++i)
    for (Count r = 0; r < factor.cols; ++r) {
      const Count walk = i / kFragmentEdge * walks + r / of_walk;
      const Count step = walk * (kFragmentEdge / slices) + i % kFragmentEdge / slices;
      const Count lane = step * 8 + r % of_walk / columns;
      weights[(lane * slices + i % slices) * columns + r % columns] = convert(factor(i, r));
    }
  return weights;
}

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
    set_operands();
    set_weights();
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

  void refresh(int m) override {
    HlsRun::refresh(m);
    if (m == x_.mode_at[x_.column]) set_operands();
    if (m == x_.mode_at[x_.row]) set_weights();
  }

 private:
  unsigned column_walks() const { return tiles_.column_blocks / fragments_; }
  MatrixView<const float> factor(int place) const { return chain_.factor[at(x_.mode_at[place])]; }

  void set_weights() {
    const auto of = [&]<class T>(auto&& convert) {
      const auto weights = weights_of<T>(factor(x_.row), column_walks(), 2 * fragments_, convert);
      weights_ = bytes_of(weights.data(), weights.size());
    };
    if (arithmetic_ == Arithmetic::split_fp16)
      of.operator()<float>([](float x) { return x; });
    else
      of.operator()<std::uint16_t>([&](float x) { return operand_bits(x, arithmetic_, 0); });
    tiles_.weights = reinterpret_cast<const uint4*>(weights_.data());
  }

  void set_operands() {
    operands_.clear();
    for (int p = 0; p < parts_of(arithmetic_); ++p) {
      operands_.emplace_back(
          fragments_of(factor(x_.column), tiles_.column_blocks, fragments_, arithmetic_, p));
      tiles_.fragments[p] = operands_.back().data();
    }
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
  Buffer<std::byte> weights_;            // of the rows' factor
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
