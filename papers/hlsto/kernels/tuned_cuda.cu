// The run of hlsto.cuda.tuned; the kernel stands in tuned_cuda.cuh.
#include "papers/hlsto/kernels/tuned_cuda.hpp"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "common/device/device.hpp"
#include "papers/hlsto/format/order_device.cuh"
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

/// Ascending, the first of equal ones last.
std::vector<int> modes_by_length(const Problem& problem) {
  const auto& dims = problem.x().dims;
  std::vector<int> modes(dims.size());
  std::iota(modes.rbegin(), modes.rend(), 0);
  std::ranges::stable_sort(modes, {}, [&](int m) { return dims[at(m)]; });
  return modes;
}

class TunedRun : public HlsRun {
 public:
  TunedRun(const Problem& problem, PreparedHls hls, Arithmetic arithmetic)
      : HlsRun(problem, std::move(hls), arithmetic, "HLSTO, the diagonal alone",
               walk_columns(problem.rank())),
        lists_(list_cells(tensor_, x_, arithmetic)) {
    set_lists();
    tiles_.stride = static_cast<unsigned>(rounded_up(chain_.width, walk_columns(chain_.width)));
    tiles_.column_blocks = tiles_.stride / kFragmentColumns;
    for (const int m : modes_by_length(problem))
      if (m != x_.mode) tiles_.other[tiles_.others++] = m;
    set_fragments();
    set_weights();
    choose_kernel();
    count_bytes(weights_);
    for (const auto& part : fragments_) count_bytes(part);
    executed_["mma"] = std::to_string(count_mmas());
  }

  void refresh(int m) override {
    HlsRun::refresh(m);
    if (m == column_mode()) set_fragments();
    if (m == row_mode()) set_weights();
  }

 private:
  /// Columns that a warp takes at a time.
  static Count walk_columns(Count width) { return width <= kFragmentColumns ? 16 : 32; }
  unsigned fragments() const {
    return static_cast<unsigned>(walk_columns(chain_.width)) / kFragmentColumns;
  }

  unsigned column_walks() const { return tiles_.column_blocks / fragments(); }

  int column_mode() const { return x_.mode_at[x_.column]; }
  int row_mode() const { return x_.mode_at[x_.row]; }

  void set_lists() {
    tiles_.tiles = lists_.tiles.data();
    tiles_.places = reinterpret_cast<const uint4*>(lists_.places.data());
    count_bytes(lists_.tiles, lists_.places);
    for (std::size_t p = 0; p < lists_.values.size(); ++p) {
      tiles_.values[p] = reinterpret_cast<const uint4*>(lists_.values[p].data());
      count_bytes(lists_.values[p]);
    }
  }

  void set_weights() {
    const auto of = [&]<class T>(auto&& convert) {
      const auto weights =
          weights_of<T>(chain_.factor[at(row_mode())], column_walks(), 2 * fragments(), convert);
      weights_ = bytes_of(weights.data(), weights.size());
    };
    if (arithmetic_ == Arithmetic::split_fp16)
      of.operator()<float>([](float x) { return x; });
    else
      of.operator()<std::uint16_t>([&](float x) { return operand_bits(x, arithmetic_, 0); });
    tiles_.weights = reinterpret_cast<const uint4*>(weights_.data());
  }

  void set_fragments() {
    fragments_.clear();
    for (int p = 0; p < parts_of(arithmetic_); ++p) {
      fragments_.emplace_back(fragments_of(chain_.factor[at(column_mode())], tiles_.column_blocks,
                                           fragments(), arithmetic_, p));
      tiles_.fragments[p] = fragments_.back().data();
    }
  }

  /// In units of 16 x 16 x 16, two m16n8k16 each.
  Count count_mmas() const {
    return tensor_.dense_tiles() * kFragmentEdge * tiles_.column_blocks *
           static_cast<Count>(products_of(arithmetic_));
  }

  void launch(cudaStream_t stream) override {
    if (x_.tiles > 0)
      RETENSOR_CUDA_LAUNCH(tile_kernel_, tile_grid_, threads_, shared_, stream, x_, tiles_);
    if (x_.nonzeros > 0)
      RETENSOR_CUDA_LAUNCH(sparse_kernel_, sparse_grid_, kSparseThreads, 0, stream, x_, tiles_);
  }

  void choose_kernel() {
    with_arithmetic(arithmetic_, [this]<Arithmetic kArithmetic>() {
      if constexpr (kArithmetic == Arithmetic::tf32)
        throw LogicError("hlsto.cuda.tuned was prepared for tf32, which it declines");
      else
        choose_walk<kArithmetic>();
    });
  }

  template <int kFragments>
  auto sparse_kernel() const {
    return tiles_.others == 2   ? add_sparse<kFragments, 2>
           : tiles_.others == 3 ? add_sparse<kFragments, 3>
                                : add_sparse<kFragments, 4>;
  }

  template <Arithmetic kArithmetic>
  void choose_walk() {
    using Block = TunedBlock<kArithmetic>;
    threads_ = 32 * Block::kWarps;
    shared_ = Block::kBytes;
    const bool kept = x_.order > kTiledModes;
    if (fragments() == 1)
      tile_kernel_ = kept ? walk_tiles<kArithmetic, 1, true> : walk_tiles<kArithmetic, 1, false>;
    else
      tile_kernel_ = kept ? walk_tiles<kArithmetic, 2, true> : walk_tiles<kArithmetic, 2, false>;
    sparse_kernel_ = fragments() == 1 ? sparse_kernel<1>() : sparse_kernel<2>();
    RETENSOR_CUDA_CHECK(cudaFuncSetAttribute(
        tile_kernel_, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared_)));
    int at_once = 0;
    RETENSOR_CUDA_CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(
        &at_once, tile_kernel_, static_cast<int>(threads_), shared_));
    const Count walks =
        static_cast<Count>(at_once) * Block::kWarps * static_cast<Count>(device::facts().sms);
    tiles_.tiles_per_warp =
        static_cast<unsigned>(std::max<Count>(1, (x_.tiles + walks - 1) / walks));
    tile_grid_ =
        dim3(device::blocks_for(x_.tiles, Block::kWarps * tiles_.tiles_per_warp), column_walks());
    const Count of_block = kSparseThreads / (4 * fragments()) * kGroupNonzeros;
    sparse_grid_ = dim3(device::blocks_for(x_.nonzeros, of_block), column_walks());
  }

  const CellLists lists_;
  std::vector<Buffer<uint4>> fragments_;  // by part
  Buffer<std::byte> weights_;
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
  auto modes = modes_by_length(problem);
  std::erase(modes, problem.mode());
  options.tiled = {problem.mode(), modes.end()[-2], modes.end()[-1]};
  std::sort(options.tiled.begin(), options.tiled.end());
  return options;
}

/// The output's mode, then the others but the longest, along which fibers lie.
std::vector<int> sparse_order(const Problem& problem) {
  auto modes = modes_by_length(problem);
  std::erase(modes, problem.mode());
  modes.pop_back();
  modes.insert(modes.begin(), problem.mode());
  return modes;
}

}  // namespace

std::unique_ptr<Prepared> prepare_tuned_cuda(const Problem& problem, const Params& params) {
  auto hls = prepare_hls(problem.x(), tuned_options(problem, params), params,
                         [&](DeviceHls& tensor) { sort_sparse(tensor, sparse_order(problem)); });
  return std::make_unique<TunedRun>(problem, std::move(hls), arithmetic_of(params));
}

}  // namespace retensor::hlsto
