// TTM-chain on HiCOO: a thread block takes a block of the tensor, as ParTI's MTTKRP does, or one of
// the chunks of a block with more nonzeros. Its groups of lanes take a run of consecutive nonzeros
// each and add up a tile of a result row in registers (chain_tile_cuda.cuh) while the output index
// stays; a row goes to the result by atomics. The nonzeros of a block are sorted by the output mode
// first, so that runs have few rows.
//
// A lane decodes every kLanes-th nonzero of its group's run and passes it round by shuffles.
#include <cstdint>

#include "common/baselines/hicoo_chain/chain_run_cuda.cuh"
#include "common/baselines/hicoo_chain/chain_tile_cuda.cuh"
#include "common/device/warp.cuh"
#include "common/formats/hicoo.hpp"

namespace retensor::hicoo_chain {

using chain::kLanes;
using device::Vec;

inline constexpr unsigned kGroups = chain::kThreads / kLanes;  // of a thread block
inline constexpr unsigned kBatch = kGroups * kLanes;           // nonzeros that they decode at once

/// What a thread block takes: `count` nonzeros from `begin` on, of one block of the tensor.
struct Chunk {
  Count begin;
  std::uint32_t count, block;
};

/// Offsets inside the blocks and indices of the blocks, of the product modes in ascending order and
/// of the output mode.
template <class T>
struct Blocks {
  const Chunk* chunk = nullptr;
  const std::uint8_t *element[chain::kMaxProducts] = {}, *row_element = nullptr;
  const Index *block[chain::kMaxProducts] = {}, *row_block = nullptr;
  const T* value = nullptr;
  int bits = 0;
  unsigned run = 0;  ///< most nonzeros of a group, a multiple of kLanes
};

/// The run of a group: the chunk is spread over the groups as far as they decode at once.
template <class T, int kProducts>
class Run {
 public:
  struct Nonzero {
    Index row, index[kProducts];
    T value;
  };
  __device__ Run(const Blocks<T>& x, const Chunk& chunk)
      : length(min(x.run, (chunk.count + kBatch - 1) / kBatch * kLanes)),
        x_(x),
        begin_(chunk.begin),
        first_(threadIdx.x / kLanes * length),
        end_(min(first_ + length, chunk.count)),
        row_(base(x.row_block, chunk)) {
#pragma unroll
    for (int k = 0; k < kProducts; ++k) base_[k] = base(x.block[k], chunk);
  }

  const unsigned length;  ///< of every group of the thread block
  __device__ bool empty() const {
    return first_ >= end_;
  }
  /// The lane's nonzero of the batch at `base`; past the end the last one with value 0.
  __device__ Nonzero at(unsigned base) const {
    const unsigned place = first_ + base + threadIdx.x % kLanes;
    const Count p = begin_ + min(place, end_ - 1);
    Nonzero z;
    z.row = row_ + __ldg(x_.row_element + p);
    z.value = place < end_ ? __ldg(x_.value + p) : T(0);
#pragma unroll
    for (int k = 0; k < kProducts; ++k) z.index[k] = base_[k] + __ldg(x_.element[k] + p);
    return z;
  }

 private:
  __device__ Index base(const Index* block, const Chunk& chunk) const {
    return __ldg(block + chunk.block) << x_.bits;
  }
  const Blocks<T>& x_;
  const Count begin_;
  const unsigned first_, end_;
  const Index row_;
  Index base_[kProducts];
};

template <class V>
__device__ V from(V v, int lane) {
  return device::of_lane<kLanes>(v, lane);
}

/// Nonzeros whose factor rows are in flight at a time: more would not fit in registers.
inline constexpr int kInFlight = 2;

template <class T, int kOuter>
__global__ void __launch_bounds__(chain::kThreads, (chain::kBlocksPerSm<T, kOuter>))
    ttm_chain(Blocks<T> x, chain::Operands<T> operands) {
  using Tile = chain::Tile<T, kOuter>;
  const Run<T, Tile::kProducts> run(x, x.chunk[blockIdx.x]);
  // Shuffles need the groups of a warp together.
  if (__all_sync(device::kWholeWarp, run.empty())) return;
  Tile tile(operands);
  auto next = run.at(0);
  Index row = from(next.row, 0);
  for (unsigned base = 0; base < run.length; base += kLanes) {
    const auto mine = next;
    next = run.at(base + kLanes);
#pragma unroll
    for (int t = 0; t < kLanes; t += kInFlight) {
      typename Tile::Part part[kInFlight];
#pragma unroll
      for (int u = 0; u < kInFlight; ++u) {
        part[u].scale = from(mine.value, t + u);
#pragma unroll
        for (int k = 0; k < kOuter; ++k) part[u].scale *= tile.outer(k, from(mine.index[k], t + u));
        tile.load_upper(part[u].upper, from(mine.index[Tile::kUpper], t + u));
        part[u].last = tile.last(from(mine.index[Tile::kLast], t + u));
      }
#pragma unroll
      for (int u = 0; u < kInFlight; ++u) {
        const Index to = from(mine.row, t + u);
        if (to != row) tile.flush(row), row = to;
        tile.add(part[u]);
      }
    }
  }
  if (!run.empty()) tile.flush(row);
}

namespace {

/// Nonzeros of a group at most: few rows go to the result twice, and blocks of a thousand
/// nonzeros and more still spread.
constexpr Count kLongestRun = 64;

std::vector<Chunk> chunks_of(const Hicoo& f, Count longest) {
  std::vector<Chunk> chunks;
  for (Count b = 0; b < f.blocks(); ++b)
    for (Count p = f.block_start[b]; p < f.block_start[b + 1]; p += longest)
      chunks.push_back({p, static_cast<std::uint32_t>(std::min(longest, f.block_start[b + 1] - p)),
                        static_cast<std::uint32_t>(b)});
  return chunks;
}

template <class T>
class ChainOnBlocks : public chain::ChainRun<T> {
 public:
  ChainOnBlocks(const Problem& problem, const Hicoo& f)
      : chain::ChainRun<T>(problem, "HiCOO"), value_(f.values.template as<T>()) {
    const Count batches = (f.nnz() + kLanes - 1) / kLanes;
    blocks_.run = kLanes * chain::items_per_group(batches, this->tiles(), kLongestRun / kLanes);
    chunk_ = device::Buffer<Chunk>(chunks_of(f, Count{kGroups} * blocks_.run));
    for (std::size_t m = 0; m < f.block_index.size(); ++m) {
      block_.emplace_back(f.block_index[m]);
      element_.emplace_back(f.element[m]);
      this->count_bytes(block_[m], element_[m]);
    }
    for (std::size_t k = 0; k < this->products_.size(); ++k) {
      blocks_.block[k] = block_[this->products_[k]].data();
      blocks_.element[k] = element_[this->products_[k]].data();
    }
    const auto mode = static_cast<std::size_t>(problem.mode());
    blocks_.row_block = block_[mode].data(), blocks_.row_element = element_[mode].data();
    blocks_.value = value_.data(), blocks_.chunk = chunk_.data(), blocks_.bits = f.block_bits;
    this->count_bytes(value_, chunk_);
    this->executed_["blocks"] = std::to_string(f.blocks());
    this->executed_["thread_blocks"] = std::to_string(chunk_.size());
    this->executed_["run"] = std::to_string(blocks_.run);
    this->executed_["format_bytes"] = std::to_string(f.bytes());
  }

 private:
  void launch(cudaStream_t stream) override {
    const dim3 grid(static_cast<unsigned>(chunk_.size()), this->tiles());
    chain::with_constant<chain::kMostOuter + 1>(this->outer(), [&]<int kOuter>() {
      RETENSOR_CUDA_LAUNCH((ttm_chain<T, kOuter>), grid, chain::kThreads, 0, stream, blocks_,
                           this->x_);
    });
  }

  std::vector<device::Buffer<Index>> block_;
  std::vector<device::Buffer<std::uint8_t>> element_;
  device::Buffer<T> value_;
  device::Buffer<Chunk> chunk_;
  Blocks<T> blocks_;
};

}  // namespace

std::unique_ptr<Prepared> prepare_cuda(const Problem& problem, const Params& params) {
  HicooOptions options;
  options.block_bits = static_cast<int>(params.integer("block_bits"));
  options.first = problem.mode();
  const Hicoo f = to_hicoo(problem.x(), options);
  return make_typed_run<ChainOnBlocks>(problem, f);
}

}  // namespace retensor::hicoo_chain
