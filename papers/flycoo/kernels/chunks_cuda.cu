// The run of flycoo.cuda.chunks; the kernel stands in chunks_cuda.cuh.
#include "papers/flycoo/kernels/prepare_cuda.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "common/device/cub.cuh"
#include "common/device/device.hpp"
#include "common/run/coo_device.cuh"
#include "common/run/modes_run.cuh"
#include "papers/flycoo/format/coo_device.cuh"
#include "papers/flycoo/kernels/chunks_cuda.cuh"

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
