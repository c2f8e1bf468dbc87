// flycoo.cuda.chunks: MTTKRP over all modes in one launch, for tensors whose passes are shorter
// than the launches and the waits between them.
//
// Each mode has a copy of the nonzeros in the order of its output rows and, within a row, of their
// fibers along the leaves' mode. A group of lanes takes a chunk of neighbours: rows of the leaves
// are added up in registers, a fiber's sum is multiplied by the other factors' rows once. An output
// row that lies inside a chunk is stored; the first and the last of a chunk are added to the output
// by atomics. A thread block whose nonzeros all have one row adds once.
#include <algorithm>
#include <bit>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "common/core/types.hpp"
#include "common/device/device.hpp"
#include "common/device/device_sort.cuh"
#include "common/device/vec.cuh"
#include "common/run/coo_device.cuh"
#include "common/run/modes_run.cuh"
#include "papers/flycoo/format/coo_device.cuh"
#include "papers/flycoo/kernels/prepare_cuda.hpp"

namespace retensor::flycoo::chunks {

using device::RowLane;
using device::Vec;

inline constexpr unsigned kThreads = 128;
inline constexpr unsigned kAhead = 4;               ///< nonzeros whose rows a group loads at a time
inline constexpr std::uint32_t kBegins = 1u << 31;  ///< of a row: a fiber begins with the nonzero
inline constexpr std::uint32_t kNoneYet = ~0u;

/// What the kernel reads of a mode.
struct ChunkedMode {
  const uint4* records = nullptr;     ///< row with kBegins, upper row, leaf, value
  const Index* more[kMaxOrder] = {};  ///< upper rows from the second on, by nonzero
  const float* upper[kMaxOrder] = {};
  const float* leaf = nullptr;
  float* out = nullptr;
  unsigned uppers = 0;
  unsigned first_block = 0;
};

struct ChunkedTensor {
  ChunkedMode mode[kMaxOrder];
  unsigned modes = 0;
  std::uint32_t nnz = 0, chunk = 0;  ///< of a group, a multiple of kAhead
  unsigned stride = 0;
};

template <int kLanes>
class ChunkWalk : RowLane<float, kLanes> {
  using Sum = Vec<float>;
  static constexpr unsigned kGroups = kThreads / kLanes;

 public:
  __device__ ChunkWalk(const ChunkedTensor& x, const ChunkedMode& mode)
      : x_(x), mode_(mode), holds_(this->column < x.stride), at_(holds_ ? this->column : 0) {}

  __device__ void run(unsigned block, float4* shared) {
    const std::uint32_t first = block * kGroups * x_.chunk;
    const std::uint32_t own = first + threadIdx.x / kLanes * x_.chunk;
    const std::uint32_t begin = own < x_.nnz ? own : x_.nnz;
    const std::uint32_t end = x_.chunk < x_.nnz - begin ? begin + x_.chunk : x_.nnz;
    for (std::uint32_t p = begin; p < end; p += kAhead) add(p, begin, end);
    end_fiber();
    const std::uint32_t of_block = __ldg(&mode_.records[first].x) & ~kBegins;
    if (__syncthreads_and(row_ == kNoneYet || (is_first_ && row_ == of_block)))
      add_block(of_block, shared);
    else if (row_ != kNoneYet)
      add_to_output(row_, sum_);
  }

 private:
  __device__ Sum row_of(const float* factor, std::uint32_t row) const {
    return Sum::load(factor + Count{row} * x_.stride + at_);
  }
  /// The product of the upper factors' rows of nonzero p.
  __device__ Sum upper_of(std::uint32_t p, std::uint32_t upper) const {
    if (mode_.uppers == 0) return Sum::splat(1);
    Sum product = row_of(mode_.upper[0], upper);
    for (unsigned k = 1; k < mode_.uppers; ++k)
      product.multiply(row_of(mode_.upper[k], __ldg(mode_.more[k] + p)));
    return product;
  }

  /// The nonzeros from p on, as many as are loaded at a time. The first of a chunk begins a fiber
  /// for its group, wherever that began.
  __device__ void add(std::uint32_t p, std::uint32_t begin, std::uint32_t end) {
    uint4 record[kAhead];
    Sum leaf[kAhead], upper[kAhead];
#pragma unroll
    for (unsigned u = 0; u < kAhead; ++u)
      if (p + u < end) record[u] = __ldg(mode_.records + p + u);
#pragma unroll
    for (unsigned u = 0; u < kAhead; ++u) {
      if (p + u >= end) continue;
      if (p + u == begin) record[u].x |= kBegins;
      leaf[u] = row_of(mode_.leaf, record[u].z);
      if ((record[u].x & kBegins) != 0) upper[u] = upper_of(p + u, record[u].y);
    }
#pragma unroll
    for (unsigned u = 0; u < kAhead; ++u) {
      if (p + u >= end) continue;
      if ((record[u].x & kBegins) != 0) begin_fiber(record[u].x & ~kBegins, upper[u]);
      of_fiber_.fma(Sum::splat(__uint_as_float(record[u].w)), leaf[u]);
    }
  }
  __device__ void begin_fiber(std::uint32_t row, const Sum& upper) {
    end_fiber();
    if (row != row_) end_row(row);
    upper_ = upper;
  }
  __device__ void end_fiber() {
    sum_.fma(of_fiber_, upper_);
    of_fiber_ = Sum::splat(0);
  }
  __device__ void end_row(std::uint32_t next) {
    if (row_ != kNoneYet && is_first_)
      add_to_output(row_, sum_);
    else if (row_ != kNoneYet && holds_)
      sum_.store(output(row_));
    is_first_ = row_ == kNoneYet;
    row_ = next, sum_ = Sum::splat(0);
  }

  __device__ float* output(std::uint32_t row) const {
    return mode_.out + Count{row} * x_.stride + at_;
  }
  __device__ void add_to_output(std::uint32_t row, const Sum& sum) const {
    if (holds_) sum.reduce_into(output(row));
  }
  /// All groups of the block have sums of one row.
  __device__ void add_block(std::uint32_t row, float4* shared) {
    shared[threadIdx.x] = sum_.v;
    for (unsigned half = kThreads / 2; half >= kLanes; half /= 2) {
      __syncthreads();
      if (threadIdx.x >= half) continue;
      sum_.add({shared[threadIdx.x + half]});
      shared[threadIdx.x] = sum_.v;
    }
    if (threadIdx.x < kLanes) add_to_output(row, sum_);
  }

  const ChunkedTensor& x_;
  const ChunkedMode& mode_;
  const bool holds_;   // whether the row has columns of this lane
  const unsigned at_;  // the lane's first column, or some
  Sum sum_ = Sum::splat(0), of_fiber_ = Sum::splat(0), upper_ = Sum::splat(0);
  std::uint32_t row_ = kNoneYet;
  bool is_first_ = true;  // the row is the first of the chunk
};

/// Thread blocks (b, w): chunks of one mode, the tile w of columns.
template <int kLanes>
__global__ void __launch_bounds__(kThreads) walk_chunks(const __grid_constant__ ChunkedTensor x) {
  __shared__ float4 shared[kThreads];
  unsigned m = 0;
  while (m + 1 < x.modes && blockIdx.x >= x.mode[m + 1].first_block) ++m;
  ChunkWalk<kLanes>(x, x.mode[m]).run(blockIdx.x - x.mode[m].first_block, shared);
}

}  // namespace retensor::flycoo::chunks

namespace retensor::flycoo {
namespace {

using chunks::ChunkedMode, chunks::ChunkedTensor, chunks::kBegins;
using device::Buffer;

/// Chunks that keep the warps of a device busy once, within these.
constexpr std::uint32_t kShortest = 8, kLongest = 64;

/// A mode's copy of the nonzeros.
struct Copy {
  std::vector<int> uppers;  ///< the modes but the output's and the leaves', ascending
  int leaf = 0;             ///< the longest of the other modes
  Buffer<uint4> records;
  std::vector<Buffer<Index>> more;  ///< of `uppers` from the second on

  Count bytes() const {
    Count sum = records.bytes();
    for (const auto& rows : more) sum += rows.bytes();
    return sum;
  }
};

std::size_t at(int mode) {
  return static_cast<std::size_t>(mode);
}

int bits_for(std::uint64_t length) {
  return std::bit_width(length - 1);
}

/// The nonzeros' positions in the order of these modes, the first weighs most.
void sort_by(const DeviceCoo& x, std::span<const int> modes, device::DeviceSort& positions) {
  auto* const value = positions.values.data();
  for_each(x.nnz, [=] __device__(Count p) { value[p] = static_cast<std::uint32_t>(p); });
  for (auto m = modes.rbegin(); m != modes.rend(); ++m) {
    auto* const key = positions.keys.data();
    const auto* const from = positions.values.data();
    const Index* const index = x.indices[at(*m)].data();
    for_each(x.nnz, [=] __device__(Count p) { key[p] = index[from[p]]; });
    positions.sort(bits_for(x.dims[at(*m)]));
  }
}

Copy copy_of(const DeviceCoo& x, int mode, device::DeviceSort& positions) {
  Copy made;
  std::vector<int> modes{mode};
  for (int m = 0; m < static_cast<int>(x.dims.size()); ++m)
    if (m != mode) made.uppers.push_back(m);
  const auto longest = std::ranges::max_element(
      made.uppers, [&](int a, int b) { return x.dims[at(a)] < x.dims[at(b)]; });
  made.leaf = *longest;
  made.uppers.erase(longest);
  modes.insert(modes.end(), made.uppers.begin(), made.uppers.end());
  modes.push_back(made.leaf);
  sort_by(x, modes, positions);

  const CooView view(x);
  const auto* const from = positions.values.data();
  made.records = Buffer<uint4>(x.nnz);
  auto* const to = made.records.data();
  const int leaf = made.leaf, upper = made.uppers.empty() ? mode : made.uppers.front();
  const int order = static_cast<int>(x.dims.size());
  for_each(x.nnz, [=] __device__(Count i) {
    const std::uint32_t p = from[i];
    bool begins = i == 0;
    for (int m = 0; m < order && !begins; ++m)
      begins = m != leaf && view.index[m][p] != view.index[m][from[i - 1]];
    to[i] = {view.index[mode][p] | (begins ? kBegins : 0u), view.index[upper][p],
             view.index[leaf][p], view.values[p]};
  });
  for (std::size_t k = 1; k < made.uppers.size(); ++k) {
    Buffer<Index> rows(x.nnz);
    Index* const out = rows.data();
    const Index* const index = x.indices[at(made.uppers[k])].data();
    for_each(x.nnz, [=] __device__(Count i) { out[i] = index[from[i]]; });
    made.more.push_back(std::move(rows));
  }
  return made;
}

class ChunksRun : public CudaModesRun<float> {
 public:
  ChunksRun(const Problem& problem, const Params& params)
      : CudaModesRun<float>(problem, "a copy per mode in chunks, all modes in one launch") {
    const auto& x = problem.x();
    copies_ = made_on_device(x, executed_, [&](const DeviceCoo& coordinates) {
      std::vector<Copy> made;
      device::DeviceSort positions(static_cast<std::uint32_t>(x.nnz()));
      for (const int m : modes_) made.push_back(copy_of(coordinates, m, positions));
      return made;
    });
    for (const auto& copy : copies_) count_bytes(copy);
    device::with_lanes<float>(stride_, [&]<int kLanes>() {
      kernel_ = chunks::walk_chunks<kLanes>;
      lanes_ = kLanes;
    });
    const auto stated = static_cast<std::uint32_t>(params.integer("chunk"));
    chunk_ = stated != 0 ? stated : chunk_for(x.nnz() * modes_.size());
    executed_["chunk"] = std::to_string(chunk_);
  }

 private:
  std::uint32_t chunk_for(Count nonzeros) const {
    int blocks = 0;
    RETENSOR_CUDA_CHECK(
        cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel_, chunks::kThreads, 0));
    const Count groups = static_cast<Count>(blocks * device::facts().sms) * groups_of_block();
    const Count share = (nonzeros + groups - 1) / groups;
    const Count rounded = (share + chunks::kAhead - 1) / chunks::kAhead * chunks::kAhead;
    return std::clamp(static_cast<std::uint32_t>(rounded), kShortest, kLongest);
  }
  unsigned groups_of_block() const { return chunks::kThreads / lanes_; }
  unsigned blocks_of_mode() const {
    return device::blocks_for(problem_.x().nnz(), groups_of_block() * chunk_);
  }

  void run_modes(std::span<const int> modes, StageTimer& timer) override {
    const auto stream = stream_of(timer);
    timer.stage("zero");
    Count rows = 0;
    for (const int m : modes) rows += length(m);
    RETENSOR_CUDA_CHECK(
        cudaMemsetAsync(rows_of(modes.front()), 0, rows * stride_ * sizeof(float), stream));
    timer.stage("kernel");
    if (problem_.x().nnz() > 0) launch(modes, stream);
  }
  void pass(int mode, cudaStream_t stream) override { launch({&mode, 1}, stream); }

  void launch(std::span<const int> modes, cudaStream_t stream) {
    ChunkedTensor x;
    x.nnz = static_cast<std::uint32_t>(problem_.x().nnz());
    x.chunk = chunk_, x.stride = stride_;
    for (const int m : modes) {
      x.mode[x.modes] = mode_of(m, x.modes * blocks_of_mode());
      ++x.modes;
    }
    const dim3 grid(x.modes * blocks_of_mode(), (stride_ / 4 + lanes_ - 1) / lanes_);
    RETENSOR_CUDA_LAUNCH(kernel_, grid, chunks::kThreads, 0, stream, x);
  }

  ChunkedMode mode_of(int mode, unsigned first_block) {
    const auto place = std::ranges::find(modes_, mode) - modes_.begin();
    const Copy& copy = copies_[static_cast<std::size_t>(place)];
    ChunkedMode m;
    m.records = copy.records.data();
    m.uppers = static_cast<unsigned>(copy.uppers.size());
    for (std::size_t k = 0; k < copy.uppers.size(); ++k) {
      m.upper[k] = factors_[at(copy.uppers[k])].data();
      if (k > 0) m.more[k] = copy.more[k - 1].data();
    }
    m.leaf = factors_[at(copy.leaf)].data();
    m.out = rows_of(mode);
    m.first_block = first_block;
    return m;
  }

  std::vector<Copy> copies_;  // of each mode of the passes
  void (*kernel_)(ChunkedTensor) = nullptr;
  unsigned lanes_ = 0;
  std::uint32_t chunk_ = 0;
};

}  // namespace

std::unique_ptr<Prepared> prepare_chunks_cuda(const Problem& problem, const Params& params) {
  return std::make_unique<ChunksRun>(problem, params);
}

}  // namespace retensor::flycoo
