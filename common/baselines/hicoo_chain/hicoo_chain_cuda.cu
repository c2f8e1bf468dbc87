// The run of hicoo_chain.cuda; the kernel stands in hicoo_chain_cuda.cuh.
#include "common/baselines/hicoo_chain/chain_run_cuda.cuh"
#include "common/baselines/hicoo_chain/hicoo_chain_cuda.cuh"
#include "common/baselines/hicoo_chain/hicoo_chain_cuda.hpp"
#include "common/formats/hicoo.hpp"

namespace retensor::hicoo_chain {
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
    chain::with_outer(this->outer(), [&]<int kOuter>() {
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
  return dispatch(problem.dtype(), [&]<class T>() -> std::unique_ptr<Prepared> {
    return std::make_unique<ChainOnBlocks<T>>(problem, f);
  });
}

}  // namespace retensor::hicoo_chain
