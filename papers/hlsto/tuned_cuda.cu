// The run of hlsto.cuda.tuned; the kernel stands in kernels_tuned.cuh.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "common/device/device.hpp"
#include "common/numeric/rounding.hpp"
#include "papers/hlsto/cuda_run.cuh"
#include "papers/hlsto/kernels_tuned.cuh"
#include "papers/hlsto/methods_cuda.hpp"
#include "papers/hlsto/order_cuda.cuh"

namespace retensor::hlsto {
namespace {

/// Part `part` of x in 16 bits.
std::uint16_t pattern(float x, Arithmetic arithmetic, int part) {
  if (arithmetic == Arithmetic::bf16) return to_bf16_bits(x);
  return to_fp16_bits(part == 0 ? x : x - round_fp16(x));
}

/// A factor as B operands of m16n8k16: of 16 rows and 8 columns lane l has rows 2 (l % 4), the
/// next, and both 8 further on, in column l / 4 of those that `factor_column` deals out.
std::vector<uint2> fragments_of(MatrixView<const float> factor, unsigned column_blocks,
                                Arithmetic arithmetic, int part) {
  const Count tiles = rounded_up(factor.rows, kFragmentEdge) / kFragmentEdge;
  std::vector<uint2> fragments(tiles * column_blocks * 32);
  const auto element = [&](Count row, Count column) -> std::uint32_t {
    return row < factor.rows && column < factor.cols
               ? pattern(factor(row, column), arithmetic, part)
               : pattern(0, arithmetic, part);
  };
  for (Count t = 0; t < tiles; ++t)
    for (unsigned n = 0; n < column_blocks; ++n)
      for (unsigned lane = 0; lane < 32; ++lane) {
        const Count row = t * kFragmentEdge + lane % 4 * 2, column = factor_column(n, lane / 4);
        const auto pair = [&](Count first) {
          return element(first, column) | element(first + 1, column) << 16;
        };
        fragments[(t * column_blocks + n) * 32 + lane] = {pair(row), pair(row + 8)};
      }
  return fragments;
}

class TunedRun : public HlsRun {
 public:
  TunedRun(const Problem& problem, PreparedHls hls, Arithmetic arithmetic)
      : HlsRun(problem, std::move(hls), arithmetic, "HLSTO, the diagonal alone",
               walk_columns(problem.rank())),
        order_(tiles_by_place(tensor_, x_.slice)) {
    tiles_.order = order_.data();
    tiles_.stride = static_cast<unsigned>(rounded_up(chain_.width, walk_columns(chain_.width)));
    tiles_.column_blocks = tiles_.stride / kFragmentColumns;
    for (int m = 0; m < x_.order; ++m)
      if (m != x_.mode) tiles_.other[tiles_.others++] = m;
    set_fragments();
    choose_kernel();
    count_bytes(order_);
    for (const auto& part : fragments_) count_bytes(part);
    executed_["mma"] = std::to_string(count_mmas());
  }

  void refresh(int m) override {
    HlsRun::refresh(m);
    if (m == column_mode()) set_fragments();
  }

 private:
  /// Columns that a warp takes at a time.
  static Count walk_columns(Count width) { return width <= kPairColumns ? 16 : 32; }

  int column_mode() const { return x_.mode_at[x_.column]; }

  void set_fragments() {
    fragments_.clear();
    for (int p = 0; p < (arithmetic_ == Arithmetic::split_fp16 ? 2 : 1); ++p) {
      fragments_.emplace_back(
          fragments_of(chain_.factor[at(column_mode())], tiles_.column_blocks, arithmetic_, p));
      tiles_.fragments[p] = fragments_.back().data();
    }
  }

  /// In units of 16 x 16 x 16, two m16n8k16 each.
  Count count_mmas() const {
    return tensor_.dense_tiles() * kFragmentEdge * tiles_.column_blocks / 2 *
           static_cast<Count>(products_of(arithmetic_));
  }

  void launch(cudaStream_t stream) override {
    if (x_.tiles > 0)
      RETENSOR_CUDA_LAUNCH(tile_kernel_, tile_grid_, threads_, shared_, stream, x_, tiles_);
    if (x_.nonzeros > 0)
      RETENSOR_CUDA_LAUNCH(sparse_kernel_, sparse_grid_, kSparseThreads, 0, stream, x_, tiles_);
  }

  void choose_kernel() {
    switch (arithmetic_) {
      case Arithmetic::fp16:
        return choose_walk<Arithmetic::fp16>();
      case Arithmetic::bf16:
        return choose_walk<Arithmetic::bf16>();
      case Arithmetic::split_fp16:
        return choose_walk<Arithmetic::split_fp16>();
      case Arithmetic::tf32:
        throw LogicError("hlsto.cuda.tuned was prepared for tf32, which it declines");
    }
  }

  template <Arithmetic kArithmetic>
  void choose_walk() {
    using Block = TunedBlock<kArithmetic>;
    const auto columns = static_cast<unsigned>(walk_columns(chain_.width));
    threads_ = 32 * Block::kWarps;
    shared_ = Block::kBytes;
    tile_kernel_ =
        columns == kPairColumns ? walk_tiles<kArithmetic, 1> : walk_tiles<kArithmetic, 2>;
    sparse_kernel_ = columns == kPairColumns ? add_sparse<1> : add_sparse<2>;
    RETENSOR_CUDA_CHECK(cudaFuncSetAttribute(
        tile_kernel_, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared_)));
    int at_once = 0;
    RETENSOR_CUDA_CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(
        &at_once, tile_kernel_, static_cast<int>(threads_), shared_));
    const Count walks =
        static_cast<Count>(at_once) * Block::kWarps * static_cast<Count>(device::facts().sms);
    tiles_.tiles_per_warp =
        static_cast<unsigned>(std::max<Count>(1, (x_.tiles + walks - 1) / walks));
    const unsigned walks_of_columns = tiles_.stride / columns;
    tile_grid_ =
        dim3(device::blocks_for(x_.tiles, Block::kWarps * tiles_.tiles_per_warp), walks_of_columns);
    const Count of_block = kSparseThreads / (columns / 4) * kGroupNonzeros;
    sparse_grid_ = dim3(device::blocks_for(x_.nonzeros, of_block), walks_of_columns);
  }

  // Tiles of the same output rows, which a warp meets one after the other.
  const Buffer<std::uint32_t> order_;
  std::vector<Buffer<uint2>> fragments_;  // by part
  TunedTiles tiles_;
  void (*tile_kernel_)(DeviceChain, TunedTiles) = nullptr;
  void (*sparse_kernel_)(DeviceChain, TunedTiles) = nullptr;
  dim3 tile_grid_, sparse_grid_;
  unsigned threads_ = 0, shared_ = 0;  // of a thread block; bytes
};

/// The output's mode is tiled, with the two longest others: a result row of a kept mode would be
/// one of all slices.
Options tuned_options(const Problem& problem, const Params& params) {
  Options options = format_options(problem, params);
  const auto& dims = problem.x().dims;
  std::vector<int> others;
  for (int m = 0; m < static_cast<int>(dims.size()); ++m)
    if (m != problem.mode()) others.push_back(m);
  std::stable_sort(others.begin(), others.end(),
                   [&](int a, int b) { return dims[at(a)] > dims[at(b)]; });
  options.tiled = {problem.mode(), others[0], others[1]};
  std::sort(options.tiled.begin(), options.tiled.end());
  return options;
}

}  // namespace

std::unique_ptr<Prepared> prepare_tuned_cuda(const Problem& problem, const Params& params) {
  auto hls = prepare_hls(problem.x(), tuned_options(problem, params), params,
                         [&](DeviceHls& tensor) { sort_sparse(tensor, problem.mode()); });
  return std::make_unique<TunedRun>(problem, std::move(hls), arithmetic_of(params));
}

}  // namespace retensor::hlsto
