// Sparse times dense matrix after Shi, Li, Xu, Zhang, Wang et al., "FlashSparse" (PPoPP 2025): the
// transposed product O^T = D^T S^T, so that an MMA m16n8k8 takes 16 columns of D as its rows and
// eight rows of S as its columns. A column of S is stored for only eight rows, where an MMA with
// rows of S as rows would need 16.
//
// A warp takes a window of eight rows and 16, 32 or 64 columns of D, whose rows it reads in
// neighbouring lanes, 4 to 16 bytes each. Which column of D is which row of the MMA is chosen so
// that a lane's bytes are what it needs (the paper's memory-efficient mapping, which has 4 bytes).
//
// Bytes: for eight vectors 8 (4 + 2 N) and 128 of values. Instructions for eight vectors and 64
// columns: 2 loads of D, one of values, one of columns, 8 permutations, 4 MMAs.
#include <array>
#include <string>
#include <vector>

#include "common/method/method.hpp"
#include "common/tensor/operations.hpp"
#include "papers/tca_spmm/baselines/flashsparse/format.hpp"
#include "papers/tca_spmm/kernels/ptx_cuda.cuh"
#include "papers/tca_spmm/kernels/run_cuda.cuh"

namespace retensor::flashsparse {
namespace {

using tca_spmm::Element;

constexpr unsigned kWarps = 4;  // of a thread block
constexpr unsigned kFragmentColumns = 16;

struct Product {
  const Count* block_start;
  const std::array<Index, kBlockVectors>* columns;
  const std::array<std::uint32_t, kLanes>* values;
  const std::uint16_t* dense;
  void* out;
  Count windows, rows, dense_stride, out_stride;
  unsigned panels;  ///< of columns of D
  bool half_output;
};

/// A lane's elements of a row of D, pairs of neighbours.
template <unsigned kPairs>
struct alignas(4 * kPairs) Pairs {
  std::uint32_t pair[kPairs];
};

/// kFragments MMAs side by side.
template <unsigned kFragments>
__global__ void __launch_bounds__(kWarps* device::kWarpSize) multiply_windows(const Product p) {
  using Part = Pairs<kFragments>;
  const Count number = Count{blockIdx.x} * kWarps + threadIdx.x / device::kWarpSize;
  const Count window = number / p.panels;
  if (window >= p.windows) return;
  const unsigned lane = threadIdx.x % device::kWarpSize, group = lane / 4, t = lane % 4;
  const Count column = number % p.panels * kFragments * kFragmentColumns + group * 2 * kFragments;
  const std::uint16_t* const dense = p.dense + (column < p.dense_stride ? column : 0);
  float sums[kFragments][4] = {};
  const Count end = p.block_start[window + 1];
#pragma unroll 4
  for (Count b = p.block_start[window]; b < end; ++b) {
    const std::uint32_t right = __ldg(p.values[b].data() + lane);
    const uint2 at = __ldg(reinterpret_cast<const uint2*>(p.columns[b].data()) + t);
    const auto even = *reinterpret_cast<const Part*>(dense + at.x * p.dense_stride);
    const auto odd = *reinterpret_cast<const Part*>(dense + at.y * p.dense_stride);
#pragma unroll
    for (unsigned f = 0; f < kFragments; ++f)
      device::multiply_add<device::MmaType::f16>(
          sums[f], __byte_perm(even.pair[f], odd.pair[f], 0x5410),
          __byte_perm(even.pair[f], odd.pair[f], 0x7632), right);
  }
  if (column >= p.out_stride) return;
#pragma unroll
  for (unsigned r = 0; r < 2; ++r) {
    const Count row = window * kWindowRows + 2 * t + r;
    if (row >= p.rows) return;
    const Count to = row * p.out_stride + column;
    if (p.half_output) {
      Part part;
#pragma unroll
      for (unsigned f = 0; f < kFragments; ++f)
        part.pair[f] = tca_spmm::to_half_pair(sums[f][r], sums[f][2 + r]);
      *reinterpret_cast<Part*>(static_cast<std::uint16_t*>(p.out) + to) = part;
    } else {
#pragma unroll
      for (unsigned f = 0; f < kFragments; ++f)
        *reinterpret_cast<float2*>(static_cast<float*>(p.out) + to + 2 * f) =
            make_float2(sums[f][r], sums[f][2 + r]);
    }
  }
}

using Kernel = void (*)(Product);
static_assert(alignof(Pairs<4>) == sizeof(Pairs<4>) && sizeof(Pairs<4>) == 16);

class WindowsRun : public tca_spmm::SpmmRun {
 public:
  WindowsRun(const Problem& problem, const Params& params, const Windows& windows)
      : SpmmRun(problem, "vectors of 8 x 1, mma.sync", tca_spmm::types_of(params)),
        block_start_(windows.block_start),
        columns_(windows.columns),
        values_(windows.values) {
    const unsigned fragments = width_ <= 16 ? 1 : width_ <= 32 ? 2 : 4;
    kernel_ = fragments == 1   ? multiply_windows<1>
              : fragments == 2 ? multiply_windows<2>
                               : multiply_windows<4>;
    p_.block_start = block_start_.data(), p_.columns = columns_.data(), p_.values = values_.data();
    p_.dense = reinterpret_cast<const std::uint16_t*>(d_.values.data());
    p_.out = out_.data();
    p_.windows = windows.windows(), p_.rows = rows_;
    p_.dense_stride = d_.stride, p_.out_stride = out_stride_;
    p_.panels = device::blocks_for(width_, fragments * kFragmentColumns);
    p_.half_output = output_ == Element::half;
    count_bytes(block_start_, columns_, values_);
    executed_["vectors"] = std::to_string(windows.vectors);
    executed_["blocks"] = std::to_string(windows.columns.size());
  }

  void run(StageTimer& timer) override {
    timer.stage("kernel");
    RETENSOR_CUDA_LAUNCH(kernel_, device::blocks_for(p_.windows * p_.panels, kWarps),
                         kWarps * device::kWarpSize, 0, stream_of(timer), p_);
  }

 private:
  const device::Buffer<Count> block_start_;
  const device::Buffer<std::array<Index, kBlockVectors>> columns_;
  const device::Buffer<std::array<std::uint32_t, kLanes>> values_;
  Product p_{};
  Kernel kernel_ = nullptr;
};

}  // namespace

std::unique_ptr<Prepared> prepare_cuda(const Problem& problem, const Params& params) {
  return std::make_unique<WindowsRun>(problem, params, to_windows(to_csr(problem.x())));
}

}  // namespace retensor::flashsparse
