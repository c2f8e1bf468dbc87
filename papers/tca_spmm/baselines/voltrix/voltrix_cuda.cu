// Sparse times dense matrix in the manner of "Voltrix: Sparse Matrix-Matrix Multiplication on
// Tensor Cores with Asynchronous and Balanced Kernel Optimization" (USENIX ATC 2025): windows of 16
// rows in a bit-wise format, MMAs m16n8k8, rows of D on their way by asynchronous copies while
// others are multiplied, and thread blocks that stay and take windows in turn, the longest first.
//
// A thread block takes 64 or 128 columns of D, each of its four warps a quarter of them. A step is
// two blocks of S, 16 rows of D, in a ring of four stages in shared memory.
//
// Bytes: for a block 8 (4 + 2 N) and 24 of bits and begins, 2 a nonzero for each warp.
#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "common/method/method.hpp"
#include "common/tensor/operations.hpp"
#include "papers/tca_spmm/baselines/voltrix/format.hpp"
#include "papers/tca_spmm/kernels/ptx_cuda.cuh"
#include "papers/tca_spmm/kernels/run_cuda.cuh"

namespace retensor::voltrix {
namespace {

using device::Buffer;
using device::kWarpSize;
using tca_spmm::Element;

constexpr unsigned kWarps = 4, kThreads = kWarps * kWarpSize;
constexpr unsigned kStages = 4, kStepBlocks = 2, kStepRows = kStepBlocks * kBlockColumns;

struct Product {
  const Count *block_start, *value_start;
  const Index* order;
  const std::array<Index, kBlockColumns>* columns;
  const std::array<std::uint32_t, kWindowRows / 4>* bits;
  const std::uint16_t *values, *dense;
  void* out;
  unsigned* next;  ///< window that is free, by panel of columns of D
  Count rows, dense_stride, out_stride;
  unsigned windows;
  bool half_output;
};

/// Four 8 x 8 blocks of halves, transposed; lanes 8 b to 8 b + 7 name the rows of block b.
__device__ inline void load_transposed(std::uint32_t (&pair)[4], const void* row) {
  const auto from = static_cast<std::uint32_t>(__cvta_generic_to_shared(row));
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(pair[0]), "=r"(pair[1]), "=r"(pair[2]), "=r"(pair[3])
               : "r"(from)
               : "memory");
}

/// A lane's two halves of a row of a block: columns 2 t and the next.
__device__ inline std::uint32_t pair_of(const Product& p, Count first, const std::uint32_t* bits,
                                        unsigned row, unsigned t) {
  unsigned rank = 0;
#pragma unroll
  for (unsigned w = 0; w < kWindowRows / 4; ++w)
    rank += w < row / 4 ? static_cast<unsigned>(__popc(bits[w])) : 0;
  const std::uint32_t word = row < 4 ? bits[0] : row < 8 ? bits[1] : row < 12 ? bits[2] : bits[3];
  const unsigned shift = row % 4 * kBlockColumns + 2 * t;
  const std::uint16_t* const at =
      p.values + first + rank + static_cast<unsigned>(__popc(word & ((1u << shift) - 1)));
  const unsigned low = word >> shift & 1, high = word >> shift >> 1 & 1;
  return (low != 0 ? __ldg(at) : 0u) | (high != 0 ? std::uint32_t{__ldg(at + low)} : 0u) << 16;
}

/// kColumns of D a thread block; a row of a stage has its 16 bytes number c at c ^ (row % 8).
template <unsigned kColumns>
class WindowProduct {
 public:
  static constexpr unsigned kChunks = kColumns / 8, kTiles = kColumns / kWarps / 8;
  static constexpr unsigned kStageBytes = kStepRows * kColumns * 2;

  __device__ WindowProduct(const Product& p, char* memory, Index window)
      : p_(p),
        memory_(memory),
        window_(window),
        first_(p.block_start[window]),
        end_(p.block_start[window + Count{1}]) {}

  __device__ void run() {
    const auto steps = static_cast<unsigned>((end_ - first_ + kStepBlocks - 1) / kStepBlocks);
    for (unsigned s = 0; s + 1 < kStages; ++s) fetch(s);
    for (unsigned s = 0; s < steps; ++s) {
      asm volatile("cp.async.wait_group %0;" : : "n"(kStages - 2) : "memory");
      __syncthreads();
      fetch(s + kStages - 1);
      for (unsigned b = 0; b < kStepBlocks; ++b)
        if (first_ + s * kStepBlocks + b < end_) multiply(s, b);
    }
    asm volatile("cp.async.wait_group 0;" : : : "memory");
    __syncthreads();
    store();
  }

 private:
  __device__ unsigned column0() const { return blockIdx.y * kColumns; }
  __device__ char* place(unsigned step, unsigned row, unsigned chunk) const {
    return memory_ + step % kStages * kStageBytes + (row * kChunks + (chunk ^ row % 8)) * 16;
  }

  __device__ void fetch(unsigned step) {
    for (unsigned i = threadIdx.x; i < kStepRows * kChunks; i += kThreads) {
      const unsigned row = i / kChunks, chunk = i % kChunks;
      const Count block = first_ + step * kStepBlocks + row / kBlockColumns;
      const Count column = column0() + chunk * 8;
      if (block >= end_) continue;
      const bool exists = column < p_.dense_stride;
      const Index at = p_.columns[block][row % kBlockColumns];
      tca_spmm::copy_async(place(step, row, chunk),
                           p_.dense + at * p_.dense_stride + (exists ? column : 0),
                           exists ? 16 : 0);
    }
    asm volatile("cp.async.commit_group;" : : : "memory");
  }

  __device__ void multiply(unsigned step, unsigned b) {
    const Count block = first_ + step * kStepBlocks + b;
    const unsigned lane = threadIdx.x % kWarpSize, group = lane / 4, t = lane % 4;
    const auto four = __ldg(reinterpret_cast<const uint4*>(p_.bits[block].data()));
    const std::uint32_t bits[] = {four.x, four.y, four.z, four.w};
    const Count first = p_.value_start[block];
    const std::uint32_t upper = pair_of(p_, first, bits, group, t),
                        lower = pair_of(p_, first, bits, group + 8, t);
    std::uint32_t right[4];
    const unsigned tile = lane / 8 % kTiles;
    load_transposed(
        right, place(step, b * kBlockColumns + lane % 8, threadIdx.x / kWarpSize * kTiles + tile));
#pragma unroll
    for (unsigned n = 0; n < kTiles; ++n)
      device::multiply_add<device::MmaType::f16>(sums_[n], upper, lower, right[n]);
  }

  __device__ void store() const {
    const unsigned lane = threadIdx.x % kWarpSize;
#pragma unroll
    for (unsigned n = 0; n < kTiles; ++n) {
      const Count column = column0() + (threadIdx.x / kWarpSize * kTiles + n) * 8 + lane % 4 * 2;
      if (column >= p_.out_stride) continue;
#pragma unroll
      for (unsigned r = 0; r < 2; ++r) {
        const Count row = Count{window_} * kWindowRows + lane / 4 + 8 * r;
        if (row >= p_.rows) continue;
        const Count to = row * p_.out_stride + column;
        if (p_.half_output)
          *reinterpret_cast<std::uint32_t*>(static_cast<std::uint16_t*>(p_.out) + to) =
              tca_spmm::to_half_pair(sums_[n][2 * r], sums_[n][2 * r + 1]);
        else
          *reinterpret_cast<float2*>(static_cast<float*>(p_.out) + to) =
              make_float2(sums_[n][2 * r], sums_[n][2 * r + 1]);
      }
    }
  }

  const Product& p_;
  char* const memory_;
  const Index window_;
  const Count first_, end_;
  float sums_[kTiles][4] = {};
};

template <unsigned kColumns>
__global__ void __launch_bounds__(kThreads) multiply_windows(const __grid_constant__ Product p) {
  __shared__ __align__(128) char memory[kStages * WindowProduct<kColumns>::kStageBytes];
  __shared__ unsigned taken;
  for (;;) {
    if (threadIdx.x == 0) taken = atomicAdd(p.next + blockIdx.y, 1u);
    __syncthreads();
    const unsigned own = taken;
    if (own >= p.windows) return;
    WindowProduct<kColumns>(p, memory, p.order[own]).run();
  }
}

using Kernel = void (*)(Product);

class WindowsRun : public tca_spmm::SpmmRun {
 public:
  WindowsRun(const Problem& problem, const Params& params, const Windows& windows)
      : SpmmRun(problem, "windows of 16 rows, mma.sync", tca_spmm::types_of(params)),
        block_start_(windows.block_start),
        value_start_(windows.value_start),
        order_(windows.order),
        columns_(windows.columns),
        bits_(windows.bits),
        values_(windows.values) {
    const unsigned columns = width_ <= 64 ? 64 : 128;
    kernel_ = columns == 64 ? multiply_windows<64> : multiply_windows<128>;
    const unsigned panels = device::blocks_for(width_, columns);
    next_ = Buffer<unsigned>(panels);
    p_.block_start = block_start_.data(), p_.value_start = value_start_.data();
    p_.order = order_.data(), p_.columns = columns_.data(), p_.bits = bits_.data();
    p_.values = values_.data();
    p_.dense = reinterpret_cast<const std::uint16_t*>(d_.values.data());
    p_.out = out_.data(), p_.next = next_.data();
    p_.rows = rows_, p_.dense_stride = d_.stride, p_.out_stride = out_stride_;
    p_.windows = static_cast<unsigned>(windows.windows());
    p_.half_output = output_ == Element::half;
    grid_ = dim3(std::min(p_.windows, resident()), panels);
    count_bytes(block_start_, value_start_, order_, columns_, bits_, values_, next_);
    executed_["windows"] = std::to_string(windows.windows());
    executed_["blocks"] = std::to_string(windows.columns.size());
  }

  void run(StageTimer& timer) override {
    timer.stage("kernel");
    next_.zero(stream_of(timer));
    RETENSOR_CUDA_LAUNCH(kernel_, grid_, kThreads, 0, stream_of(timer), p_);
  }

 private:
  /// Thread blocks that run at once.
  unsigned resident() const {
    int device = 0, multiprocessors = 0, blocks = 0;
    RETENSOR_CUDA_CHECK(cudaGetDevice(&device));
    RETENSOR_CUDA_CHECK(
        cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device));
    RETENSOR_CUDA_CHECK(
        cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel_, kThreads, 0));
    return static_cast<unsigned>(multiprocessors * blocks);
  }

  const Buffer<Count> block_start_, value_start_;
  const Buffer<Index> order_;
  const Buffer<std::array<Index, kBlockColumns>> columns_;
  const Buffer<std::array<std::uint32_t, kWindowRows / 4>> bits_;
  const Buffer<std::uint16_t> values_;
  Buffer<unsigned> next_;
  Product p_{};
  Kernel kernel_ = nullptr;
  dim3 grid_;
};

}  // namespace

std::unique_ptr<Prepared> prepare_cuda(const Problem& problem, const Params& params) {
  return std::make_unique<WindowsRun>(problem, params, to_windows(to_csr(problem.x())));
}

}  // namespace retensor::voltrix
