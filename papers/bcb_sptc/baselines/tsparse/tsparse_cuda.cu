// The run of tsparse.cuda (Zachariadis et al., Computers and Electrical Engineering 2020): tiles of
// 8 x 8 with bitmaps and packed single precision values, pairs of tiles expanded, those without a
// common index dropped, the others sorted by result tile.
//
// A warp takes two result tiles, which lie on the diagonal of one fragment of 16 x 16 x 16. Each
// step puts one pair of each into shared memory and multiplies. The first kernel multiplies zeros
// and ones, so that what is not zero afterwards is the result's pattern, of which a ballot makes
// the bitmap; the second one multiplies values in half precision with single precision sums.
#include <mma.h>

#include <cuda_fp16.h>

#include "papers/bcb_sptc/baselines/tiles_run.cuh"
#include "papers/bcb_sptc/baselines/tsparse/prepare.hpp"

namespace retensor::tsparse {
namespace {

using namespace bcb_sptc;  // NOLINT: the base of tiled competitors

constexpr unsigned kWarps = 4, kEdge = 16, kAllLanes = 0xffffffffu;

/// Shared memory of a warp: two operands and the sums.
struct Memory {
  __half a[kEdge * kEdge], b[kEdge * kEdge];
  float c[kEdge * kEdge];
};

__device__ unsigned place_of(unsigned tile, unsigned cell) {
  return (kTileEdge * tile + cell / kTileEdge) * kEdge + kTileEdge * tile + cell % kTileEdge;
}

/// Puts a tile on the diagonal, zero where there is no bit; ones in place of values for the
/// pattern.
template <bool kPattern>
__device__ void fill(__half* to, unsigned tile, std::uint64_t bits, const float* values) {
  for (unsigned cell = threadIdx.x % 32; cell < kTileCells; cell += 32) {
    float value = 0;
    if ((bits >> cell & 1) != 0)
      value = kPattern ? 1.0f : values[__popcll(bits & ((std::uint64_t{1} << cell) - 1))];
    to[place_of(tile, cell)] = __float2half_rn(value);
  }
}

/// The sums of result tiles `first` and first + 1 in memory.c.
template <bool kPattern>
__device__ void multiply_two(const TiledProduct& p, Count first, Memory& memory) {
  using namespace nvcuda;
  const unsigned lane = threadIdx.x % 32;
  for (unsigned i = lane; i < kEdge * kEdge; i += 32)
    memory.a[i] = memory.b[i] = __float2half_rn(0.0f);
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
  wmma::fill_fragment(sum, 0.0f);
  Count steps = 0;
  for (Count r = first; r < min(first + 2, p.results); ++r)
    steps = max(steps, Count{p.result_first[r + 1] - p.result_first[r]});
  for (Count s = 0; s < steps; ++s) {
    __syncwarp();
    for (unsigned tile = 0; tile < 2 && first + tile < p.results; ++tile) {
      const Count t = p.result_first[first + tile] + s;
      const bool has = t < p.result_first[first + tile + 1];
      const Task task = has ? p.tasks[t] : Task{};
      fill<kPattern>(memory.a, tile, has ? p.x_bitmap[task.x] : 0, p.x_values + p.x_start[task.x]);
      fill<kPattern>(memory.b, tile, has ? p.y_bitmap[task.y] : 0, p.y_values + p.y_start[task.y]);
    }
    __syncwarp();
    wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> a;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::row_major> b;
    wmma::load_matrix_sync(a, memory.a, kEdge);
    wmma::load_matrix_sync(b, memory.b, kEdge);
    wmma::mma_sync(sum, a, b, sum);
  }
  wmma::store_matrix_sync(memory.c, sum, kEdge, wmma::mem_row_major);
  __syncwarp();
}

template <bool kPattern>
__global__ void __launch_bounds__(32 * kWarps) multiply_tiles(TiledProduct p) {
  __shared__ Memory memories[kWarps];
  Memory& memory = memories[threadIdx.x / 32];
  const unsigned lane = threadIdx.x % 32;
  const Count first = 2 * (Count{blockIdx.x} * kWarps + threadIdx.x / 32);
  if (first >= p.results) return;
  multiply_two<kPattern>(p, first, memory);
  for (unsigned tile = 0; tile < 2 && first + tile < p.results; ++tile) {
    const float low = memory.c[place_of(tile, lane)], high = memory.c[place_of(tile, lane + 32)];
    if constexpr (kPattern) {
      const std::uint64_t bits = __ballot_sync(kAllLanes, low != 0) |
                                 std::uint64_t{__ballot_sync(kAllLanes, high != 0)} << 32;
      if (lane == 0) p.bitmap[first + tile] = bits;
    } else {
      const std::uint64_t bits = p.bitmap[first + tile];
      float* const to = p.values + p.first_entry[first + tile];
      const auto below = [&](unsigned cell) {
        return __popcll(bits & ((std::uint64_t{1} << cell) - 1));
      };
      if ((bits >> lane & 1) != 0) to[below(lane)] = p.alpha * low;
      if ((bits >> (lane + 32) & 1) != 0) to[below(lane + 32)] = p.alpha * high;
    }
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
    RETENSOR_CUDA_LAUNCH(multiply_tiles<kPattern>, device::blocks_for(p_.results, 2 * kWarps),
                         32 * kWarps, 0, stream, p_);
  }
};

}  // namespace

std::unique_ptr<Prepared> prepare_cuda(const Problem& problem) {
  return std::make_unique<Run>(problem);
}

}  // namespace retensor::tsparse
