// The run of tsparse.cuda (Zachariadis et al., Computers and Electrical Engineering 2020): tiles of
// 8 x 8 with bitmaps and packed single precision values, pairs of tiles expanded, those without a
// common index dropped, the others sorted by result tile.
//
// Two result tiles lie on the diagonal of one fragment of 16 x 16 x 16. Each step puts one pair of
// each into shared memory and multiplies. The first kernel multiplies zeros and ones, so that what
// is not zero afterwards is the result's pattern, of which a ballot makes the bitmap; the second
// one multiplies values in half precision with single precision sums. A warp takes up
// to sixteen result tiles, whose pairs are neighbours in the list: a lane reads the words of one of
// 32. Where there are too few tiles to fill the device so, it takes two.
#include <algorithm>

#include <mma.h>

#include <cuda_fp16.h>

#include "common/method/method.hpp"
#include "papers/bcb_sptc/baselines/tiles_run_cuda.cuh"
namespace retensor::tsparse {
namespace {

using namespace bcb_sptc;  // NOLINT: the base of tiled competitors

constexpr unsigned kWarps = 4, kEdge = 16, kMostTiles = 16, kAllLanes = 0xffffffffu;

/// Shared memory of a warp: two operands and the sums.
struct alignas(32) Memory {
  __half a[kEdge * kEdge], b[kEdge * kEdge];
  float c[kEdge * kEdge];
};

__device__ unsigned place_of(unsigned tile, unsigned cell) {
  return (kTileEdge * tile + cell / kTileEdge) * kEdge + kTileEdge * tile + cell % kTileEdge;
}

/// The words of a pair of tiles; none where there is no pair.
struct Words {
  std::uint64_t x = 0, y = 0;
  std::uint32_t x_start = 0, y_start = 0;
};

/// The words of 32 pairs, a lane each.
class Window {
 public:
  __device__ explicit Window(const TiledProduct& p)
      : p_(p), begin_(0), end_(0), last_(p.result_first[p.results]) {}

  __device__ Words at(Count t) {
    if (t < begin_ || t >= end_) load(t);
    const int lane = static_cast<int>(t - begin_);
    return {__shfl_sync(kAllLanes, own_.x, lane), __shfl_sync(kAllLanes, own_.y, lane),
            __shfl_sync(kAllLanes, own_.x_start, lane), __shfl_sync(kAllLanes, own_.y_start, lane)};
  }

 private:
  __device__ void load(Count t) {
    begin_ = t;
    end_ = min(t + 32, last_);
    const Count own = t + threadIdx.x % 32;
    if (own >= end_) return;
    const Task task = p_.tasks[own];
    own_ = {p_.x_bitmap[task.x], p_.y_bitmap[task.y], p_.x_start[task.x], p_.y_start[task.y]};
  }

  const TiledProduct& p_;
  Count begin_, end_;
  const Count last_;
  Words own_;
};

/// Puts a tile on the diagonal, two neighbouring cells a lane, zero where there is no bit; ones in
/// place of values for the pattern.
template <bool kPattern>
__device__ void fill(__half* to, unsigned tile, std::uint64_t bits, const float* values) {
  const unsigned cell = threadIdx.x % 32 * 2;
  const std::uint64_t from = bits >> cell;
  const bool has_first = (from & 1) != 0, has_second = (from & 2) != 0;
  float first = has_first ? 1.0f : 0.0f, second = has_second ? 1.0f : 0.0f;
  if constexpr (!kPattern) {
    const float* const own = values + __popcll(bits & ((std::uint64_t{1} << cell) - 1));
    if (has_first) first = own[0];
    if (has_second) second = own[has_first ? 1 : 0];
  }
  *reinterpret_cast<__half2*>(to + place_of(tile, cell)) = __floats2half2_rn(first, second);
}

/// Multiplies two result tiles at a time.
template <bool kPattern>
class TwoTiles {
 public:
  __device__ TwoTiles(const TiledProduct& p, Memory& memory)
      : p_(p), memory_(memory), windows_{Window(p), Window(p)} {
    auto* const words = reinterpret_cast<std::uint32_t*>(memory_.a);  // and memory_.b behind it
    for (unsigned i = threadIdx.x % 32; i < kEdge * kEdge; i += 32) words[i] = 0;
  }

  /// The sums of result tiles `first` and first + 1 in memory.c.
  __device__ void multiply(Count first) {
    using namespace nvcuda;
    Count begin[2] = {}, end[2] = {};
    for (unsigned tile = 0; tile < 2 && first + tile < p_.results; ++tile) {
      begin[tile] = p_.result_first[first + tile];
      end[tile] = p_.result_first[first + tile + 1];
    }
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
    wmma::fill_fragment(sum, 0.0f);
    const Count steps = max(end[0] - begin[0], end[1] - begin[1]);
    for (Count s = 0; s < steps; ++s) {
      __syncwarp();
#pragma unroll
      for (unsigned tile = 0; tile < 2; ++tile) {
        const Count t = begin[tile] + s;
        const Words words = t < end[tile] ? windows_[tile].at(t) : Words{};
        fill<kPattern>(memory_.a, tile, words.x, p_.x_values + words.x_start);
        fill<kPattern>(memory_.b, tile, words.y, p_.y_values + words.y_start);
      }
      __syncwarp();
      wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> a;
      wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::row_major> b;
      wmma::load_matrix_sync(a, memory_.a, kEdge);
      wmma::load_matrix_sync(b, memory_.b, kEdge);
      wmma::mma_sync(sum, a, b, sum);
    }
    wmma::store_matrix_sync(memory_.c, sum, kEdge, wmma::mem_row_major);
    __syncwarp();
  }

  /// What the sums tell of one of the two, result tile r: its bitmap or its values.
  __device__ void write(unsigned tile, Count r) const {
    const unsigned lane = threadIdx.x % 32;
    const float low = memory_.c[place_of(tile, lane)], high = memory_.c[place_of(tile, lane + 32)];
    if constexpr (kPattern) {
      const std::uint64_t bits = __ballot_sync(kAllLanes, low != 0) |
                                 std::uint64_t{__ballot_sync(kAllLanes, high != 0)} << 32;
      if (lane == 0) p_.bitmap[r] = bits;
    } else {
      const std::uint64_t bits = p_.bitmap[r];
      float* const to = p_.values + p_.first_entry[r];
      const auto below = [&](unsigned cell) {
        return __popcll(bits & ((std::uint64_t{1} << cell) - 1));
      };
      if ((bits >> lane & 1) != 0) to[below(lane)] = p_.alpha * low;
      if ((bits >> (lane + 32) & 1) != 0) to[below(lane + 32)] = p_.alpha * high;
    }
  }

 private:
  const TiledProduct& p_;
  Memory& memory_;
  Window windows_[2];
};

template <bool kPattern>
__global__ void __launch_bounds__(32 * kWarps)
    multiply_tiles(const __grid_constant__ TiledProduct p, unsigned tiles_of_warp) {
  __shared__ Memory memories[kWarps];
  const Count first = tiles_of_warp * (Count{blockIdx.x} * kWarps + threadIdx.x / 32);
  if (first >= p.results) return;
  TwoTiles<kPattern> tiles(p, memories[threadIdx.x / 32]);
  const Count last = min(first + tiles_of_warp, p.results);
  for (Count r = first; r < last; r += 2) {
    tiles.multiply(r);
    tiles.write(0, r);
    if (r + 1 < last) tiles.write(1, r + 1);
  }
}

class Run : public TilesRun {
 public:
  explicit Run(const Problem& problem) : TilesRun(problem, "tSparse", true) {
    make_first();
    executed_["precision"] = "fp16";
  }

 private:
  void find_patterns(cudaStream_t stream) override { launch<true>(stream); }
  void multiply(cudaStream_t stream) override { launch<false>(stream); }

  template <bool kPattern>
  void launch(cudaStream_t stream) {
    const auto tiles = static_cast<unsigned>(
        std::clamp<Count>(p_.results / warps_at_once() / 2 * 2, 2, kMostTiles));
    RETENSOR_CUDA_LAUNCH(multiply_tiles<kPattern>, device::blocks_for(p_.results, tiles * kWarps),
                         32 * kWarps, 0, stream, p_, tiles);
  }
};

}  // namespace

std::unique_ptr<Prepared> prepare_cuda(const Problem& problem) {
  return std::make_unique<Run>(problem);
}

}  // namespace retensor::tsparse
