// The run of hlsto.cuda.tuned; the kernel stands in kernels_tuned.cuh.
#include <algorithm>
#include <bit>
#include <numeric>
#include <string>
#include <vector>

#include "common/device/device.hpp"
#include "common/numeric/rounding.hpp"
#include "common/tensor/keys.hpp"
#include "papers/hlsto/cuda_run.cuh"
#include "papers/hlsto/kernels_tuned.cuh"
#include "papers/hlsto/methods_cuda.hpp"

namespace retensor::hlsto {
namespace {

/// Tiles by their place along the output's mode, else as stored, so that a warp meets tiles of the
/// same output rows one after the other.
std::vector<std::uint32_t> tiles_by_output(const Hls& hls, int slice) {
  std::vector<std::uint32_t> order(hls.dense_tiles());
  std::iota(order.begin(), order.end(), 0u);
  std::vector<Index> place(order.size());
  for (Count t = 0; t < order.size(); ++t)
    place[t] = hls.grid.tile_index().decode(hls.tile_index.at(t), slice);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return place[a] < place[b]; });
  return order;
}

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
  TunedRun(const Problem& problem, const Hls& hls, Arithmetic arithmetic)
      : HlsRun(problem, hls, arithmetic, "HLSTO, the diagonal alone", walk_columns(problem.rank())),
        order_(tiles_by_output(hls, x_.slice)) {
    tiles_.order = order_.data();
    tiles_.stride = static_cast<unsigned>(rounded_up(chain_.width, walk_columns(chain_.width)));
    tiles_.column_blocks = tiles_.stride / kFragmentColumns;
    for (int m = 0; m < x_.order; ++m)
      if (m != x_.mode) tiles_.other[tiles_.others++] = m;
    set_fragments();
    choose_kernel();
    count_bytes(order_);
    for (const auto& part : fragments_) count_bytes(part);
    executed_["mma"] = std::to_string(count_mmas(hls));
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
  Count count_mmas(const Hls& hls) const {
    return hls.dense_tiles() * kFragmentEdge * tiles_.column_blocks / 2 *
           static_cast<Count>(products_of(arithmetic_));
  }

  void launch(cudaStream_t stream) override {
    RETENSOR_CUDA_LAUNCH(kernel_, grid_, threads_, shared_, stream, x_, tiles_);
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
    kernel_ = columns == kPairColumns ? tuned<kArithmetic, 1> : tuned<kArithmetic, 2>;
    RETENSOR_CUDA_CHECK(cudaFuncSetAttribute(kernel_, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                             static_cast<int>(shared_)));
    int at_once = 0;
    RETENSOR_CUDA_CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(
        &at_once, kernel_, static_cast<int>(threads_), shared_));
    const Count walks =
        static_cast<Count>(at_once) * Block::kWarps * static_cast<Count>(device::facts().sms);
    tiles_.tiles_per_warp =
        static_cast<unsigned>(std::max<Count>(1, (x_.tiles + walks - 1) / walks));
    tiles_.tile_thread_blocks =
        x_.tiles == 0 ? 0 : device::blocks_for(x_.tiles, Block::kWarps * tiles_.tiles_per_warp);
    const Count of_block = threads_ / (columns / 4) * kGroupNonzeros;
    const unsigned others = x_.nonzeros == 0 ? 0 : device::blocks_for(x_.nonzeros, of_block);
    grid_ = dim3(tiles_.tile_thread_blocks + others, tiles_.stride / columns);
  }

  const Buffer<std::uint32_t> order_;
  std::vector<Buffer<uint2>> fragments_;  // by part
  TunedTiles tiles_;
  void (*kernel_)(DeviceChain, TunedTiles) = nullptr;
  dim3 grid_;
  unsigned threads_ = 0, shared_ = 0;  // of a thread block; bytes
};

/// Sparse nonzeros in the order of their output rows, else as stored.
void sort_by_output(Hls& hls, int mode) {
  const auto& index = hls.grid.nonzero_index();
  std::vector<Count> order(hls.sparse_nonzeros());
  std::iota(order.begin(), order.end(), Count{0});
  stable_sort_by_key(order, bits_for(hls.dims[at(mode)]), [&]<class Key>(Count x) {
    return static_cast<Key>(index.decode(hls.nonzero_index.at(x), mode));
  });
  PackedIndices keys(index.bits(), order.size());
  StoredValues values(hls.options.values, order.size());
  for (Count p = 0; p < order.size(); ++p) {
    keys.set(p, hls.nonzero_index.at(order[p]));
    values.set(p, hls.sparse_values.at(order[p]));
  }
  hls.nonzero_index = std::move(keys), hls.sparse_values = std::move(values);
}

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
  Hls hls = to_hls(problem.x(), tuned_options(problem, params));
  sort_by_output(hls, problem.mode());
  return std::make_unique<TunedRun>(problem, hls, arithmetic_of(params));
}

}  // namespace retensor::hlsto
