// The run of dbcsr.cuda (Sivkov et al., ParCo 2019): matrices in compressed rows of dense blocks,
// here of 8 x 8 and in single precision, products of blocks on CUDA cores.
//
// Every non-empty block of a row of x meets every one of the same contracted index of y; products
// of one result block are one warp's, whose lanes keep two of its cells each. Result blocks are
// dense too; at last their entries are put together, of which bitmaps beside the blocks tell which
// are in the pattern.
#include "common/method/method.hpp"
#include "papers/bcb_sptc/baselines/tiles_run_cuda.cuh"

namespace retensor::dbcsr {
namespace {

using namespace bcb_sptc;  // NOLINT: the base of tiled competitors

constexpr unsigned kWarps = kThreads / 32;

/// The pattern of each result tile by bit operations: row i is the union of y's rows k over x's
/// bits (i, k).
__global__ void find_tile_patterns(TiledProduct p) {
  for_each_of_grid(p.results, [&](Count r) {
    std::uint64_t pattern = 0;
    for (Count t = p.result_first[r]; t < p.result_first[r + 1]; ++t) {
      const std::uint64_t x = p.x_bitmap[p.tasks[t].x], y = p.y_bitmap[p.tasks[t].y];
#pragma unroll
      for (unsigned k = 0; k < kTileEdge; ++k) {
        const std::uint64_t rows = (x >> k & 0x0101010101010101u) * 0xff;
        pattern |= rows & (y >> kTileEdge * k & 0xff) * 0x0101010101010101u;
      }
    }
    p.bitmap[r] = pattern;
  });
}

__global__ void fill_blocks(Count blocks, const std::uint64_t* bitmap, const std::uint32_t* start,
                            const float* values, float* dense) {
  for_each_of_grid(blocks * kTileCells, [&](Count i) {
    const std::uint64_t bits = bitmap[i / kTileCells];
    const auto cell = static_cast<unsigned>(i % kTileCells);
    const auto below = static_cast<unsigned>(__popcll(bits & ((std::uint64_t{1} << cell) - 1)));
    dense[i] = (bits >> cell & 1) != 0 ? values[start[i / kTileCells] + below] : 0.0f;
  });
}

struct Blocks {
  const float *x, *y;
  float* result;
};

__global__ void __launch_bounds__(kThreads) multiply_blocks(TiledProduct p, Blocks blocks) {
  __shared__ float memory[kWarps][2][kTileCells];
  float* const x = memory[threadIdx.x / 32][0];
  float* const y = memory[threadIdx.x / 32][1];
  const unsigned lane = threadIdx.x % 32, row = lane / kTileEdge, column = lane % kTileEdge;
  const Count r = Count{blockIdx.x} * kWarps + threadIdx.x / 32;
  if (r >= p.results) return;
  float upper = 0, lower = 0;
  for (Count t = p.result_first[r]; t < p.result_first[r + 1]; ++t) {
    const Task task = p.tasks[t];
    __syncwarp();
    for (unsigned c = lane; c < kTileCells; c += 32) {
      x[c] = blocks.x[Count{task.x} * kTileCells + c];
      y[c] = blocks.y[Count{task.y} * kTileCells + c];
    }
    __syncwarp();
#pragma unroll
    for (unsigned k = 0; k < kTileEdge; ++k) {
      upper += x[row * kTileEdge + k] * y[k * kTileEdge + column];
      lower += x[(row + 4) * kTileEdge + k] * y[k * kTileEdge + column];
    }
  }
  blocks.result[r * kTileCells + lane] = p.alpha * upper;
  blocks.result[r * kTileCells + lane + 32] = p.alpha * lower;
}

__global__ void gather_entries(TiledProduct p, const float* blocks) {
  for_each_of_grid(p.results * kTileCells, [&](Count i) {
    const std::uint64_t bits = p.bitmap[i / kTileCells];
    const auto cell = static_cast<unsigned>(i % kTileCells);
    if ((bits >> cell & 1) != 0)
      p.values[p.first_entry[i / kTileCells] +
               static_cast<Count>(__popcll(bits & ((std::uint64_t{1} << cell) - 1)))] = blocks[i];
  });
}

class Run : public TilesRun {
 public:
  explicit Run(const Problem& problem)
      : TilesRun(problem, "DBCSR", false),
        x_blocks_(x_.blocks * kTileCells),
        y_blocks_(y_.blocks * kTileCells) {
    fill(x_, p_.x_values, x_blocks_);
    fill(y_, p_.y_values, y_blocks_);
    make_first();
    result_blocks_ = Buffer<float>(p_.results * kTileCells);
    executed_["x_format_bytes"] = std::to_string(bytes_of(x_, x_blocks_, m_.rows));
  }

 private:
  static void fill(const DeviceBcb& tiles, const float* values, Buffer<float>& dense) {
    if (tiles.blocks > 0)
      RETENSOR_CUDA_LAUNCH(fill_blocks, grid_for(dense.size()), kThreads, 0, nullptr, tiles.blocks,
                           tiles.bitmap.data(), tiles.word_start.data(), values, dense.data());
  }
  void find_patterns(cudaStream_t stream) override {
    RETENSOR_CUDA_LAUNCH(find_tile_patterns, grid_for(p_.results), kThreads, 0, stream, p_);
  }
  void multiply(cudaStream_t stream) override {
    RETENSOR_CUDA_LAUNCH(multiply_blocks, device::blocks_for(p_.results, kWarps), kThreads, 0,
                         stream, p_,
                         (Blocks{x_blocks_.data(), y_blocks_.data(), result_blocks_.data()}));
  }
  void write_values(cudaStream_t stream) override {
    RETENSOR_CUDA_LAUNCH(gather_entries, grid_for(result_blocks_.size()), kThreads, 0, stream, p_,
                         result_blocks_.data());
  }

  /// Blocks, the column of each and the start of each block row, 32 bits.
  static Count bytes_of(const DeviceBcb& tiles, const Buffer<float>& blocks, Count rows) {
    return blocks.bytes() + sizeof(Index) * (tiles.blocks + rows / kTileEdge + 1);
  }
  Count format_bytes() const override {
    return bytes_of(x_, x_blocks_, m_.rows) + bytes_of(y_, y_blocks_, m_.groups);
  }
  Count work_bytes() const override {
    return TilesRun::work_bytes() + x_.bytes() + y_.bytes() + result_blocks_.bytes();
  }

  Buffer<float> x_blocks_, y_blocks_, result_blocks_;
};

}  // namespace

std::unique_ptr<Prepared> prepare_cuda(const Problem& problem) {
  return std::make_unique<Run>(problem);
}

}  // namespace retensor::dbcsr
