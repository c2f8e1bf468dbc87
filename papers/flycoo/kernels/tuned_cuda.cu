// The runs of flycoo.cuda.tuned and flycoo.cuda.copies; the kernels stand in tuned_cuda.cuh.
#include "papers/flycoo/kernels/tuned_cuda.hpp"

#include <algorithm>
#include <string>

#include "common/device/device.hpp"
#include "common/run/modes_run.cuh"
#include "papers/flycoo/format/flycoo.hpp"
#include "papers/flycoo/format/records_device.cuh"
#include "papers/flycoo/format/tiles_device.cuh"
#include "papers/flycoo/kernels/tuned_cuda.cuh"

namespace retensor::flycoo {
namespace {

using device::Buffer;
using tuned::Block;
using tuned::TilePass;

constexpr Count kLongFiber = 8;  // nonzeros of a mean fiber from which on walking by fibers gained

/// What a row of `stride` elements and the number of gathered modes choose.
template <class T>
struct Kernels {
  void (*tile)(TilePass<T>, unsigned) = nullptr;
  void (*fiber)(TilePass<T>, unsigned) = nullptr;  ///< walks by fibers, if there is one
  void (*join)(TilePass<T>, const CutRow*) = nullptr;
  unsigned lanes = 0, column_tiles = 0;

  Kernels(unsigned stride, int others, bool remap) {
    device::with_lanes<T>(stride, [&]<int kLanes>() {
      lanes = kLanes;
      join = tuned::join_rows<T, kLanes>;
      with_others(others, [&]<int kOthers>() {
        tile = remap ? tuned::tile_pass<T, kLanes, kOthers, true, false>
                     : tuned::tile_pass<T, kLanes, kOthers, false, false>;
        if constexpr (kOthers == 2 || kOthers == 3)
          fiber = remap ? tuned::tile_pass<T, kLanes, kOthers, true, true>
                        : tuned::tile_pass<T, kLanes, kOthers, false, true>;
      });
    });
    column_tiles = (stride / device::Vec<T>::kWidth + lanes - 1) / lanes;
  }
};

template <class T>
class TunedRun : public CudaModesRun<T> {
 public:
  TunedRun(const Problem& problem, DeviceTiled tensor, Executed prepared, const Block& block,
           const device::Limits& limits)
      : CudaModesRun<T>(problem, tensor.remaps() ? "FLYCOO in tiles, remapped in the pass"
                                                 : "FLYCOO in tiles, a copy per mode"),
        records_(std::move(tensor.records), tensor.order()),
        tensor_(std::move(tensor)),
        block_(block),
        head_(Count{tensor_.tiles()} * this->stride_),
        tail_(Count{tensor_.tiles()} * this->stride_),
        kernels_(this->stride_, tensor_.order() - 1, records_.remapped()),
        ends_bytes_(static_cast<unsigned>(tuned::bytes_of_ends(block.walkers, kernels_.lanes))) {
    const Count words = records_.remapped() ? tensor_.tile * tensor_.record_words() : 0;
    shared_ = ends_bytes_ + static_cast<unsigned>((words + 3) / 4 * 16);
    share_memory(kernels_.tile, limits);
    if (kernels_.fiber != nullptr) share_memory(kernels_.fiber, limits);
    this->count_bytes(tensor_, records_, head_, tail_);
    this->executed_.merge(std::move(prepared));
    this->executed_["tile"] = std::to_string(tensor_.tile);
    this->executed_["tiles"] = std::to_string(tensor_.tiles());
    this->executed_["walkers"] = std::to_string(block_.walkers);
    this->executed_["senders"] = std::to_string(block_.senders);
    this->executed_["record_bytes"] = std::to_string(4 * tensor_.record_words());
    std::string by_fiber;
    for (int m = 0; m < tensor_.order(); ++m)
      if (walks_fibers(m)) by_fiber += (by_fiber.empty() ? "" : " ") + std::to_string(m + 1);
    this->executed_["modes walked by fiber"] = by_fiber.empty() ? "none" : by_fiber;
    this->executed_["remap"] = records_.remapped() ? "in the pass" : "a copy per mode";
  }

  Result result() override {
    records_.check_back();
    return CudaModesRun<T>::result();
  }

 private:
  template <class TileKernel>
  void share_memory(TileKernel kernel, const device::Limits& limits) const {
    const unsigned blocks = block_.blocks(records_.remapped(), limits);
    RETENSOR_CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                             static_cast<int>(shared_)));
    RETENSOR_CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout,
                                             tuned::shared_percent(blocks, shared_, limits)));
  }

  bool walks_fibers(int mode) const {
    return kernels_.fiber != nullptr &&
           tensor_.modes[static_cast<std::size_t>(mode)].fibers * kLongFiber <= tensor_.nnz;
  }

  void pass(int mode, cudaStream_t stream) override {
    const TilePass<T> x = arguments(mode);
    const auto& cut = tensor_.modes[static_cast<std::size_t>(mode)].cut;
    const auto kernel = walks_fibers(mode) ? kernels_.fiber : kernels_.tile;
    const dim3 tiles(tensor_.tiles(), kernels_.column_tiles);
    RETENSOR_CUDA_LAUNCH(kernel, tiles, block_.threads(), shared_, stream, x, ends_bytes_);
    if (cut.size() > 0) {
      const dim3 rows(static_cast<unsigned>(cut.size()), kernels_.column_tiles);
      RETENSOR_CUDA_LAUNCH(kernels_.join, rows, tuned::kJoinThreads, 0, stream, x, cut.data());
    }
    records_.end_pass();
  }

  TilePass<T> arguments(int mode) {
    const auto at = static_cast<std::size_t>(mode);
    const DeviceMode& m = tensor_.modes[at];
    TilePass<T> x;
    x.in = records_.in(mode), x.next_copy = records_.out();
    x.walk = m.walk.data(), x.leave = m.leave.data(), x.target = m.target.data();
    x.joined = m.joined.data();
    x.layout = tensor_.layout;
    const auto field = [&](std::size_t of) {
      const bool in_registers = tensor_.record_words() <= tuned::kRegisterWords;
      return tuned::WideField(tensor_.layout.index[of], in_registers);
    };
    x.row = field(at);
    // The modes before, the nearest first: what nonzeros of equal rows are ordered by.
    const auto order = static_cast<std::size_t>(tensor_.order());
    for (std::size_t back = 1; back < order; ++back) {
      const std::size_t other = (at + order - back) % order;
      x.other[x.others] = field(other);
      x.factor[x.others++] = this->factors_[other].data();
    }
    x.out = this->rows_of(mode), x.head = head_.data(), x.tail = tail_.data();
    x.nnz = tensor_.nnz, x.tile = tensor_.tile, x.stride = this->stride_;
    x.walkers = block_.walkers;
    x.per_words = static_cast<unsigned>((Count{1} << 32) / tensor_.record_words() + 1);
    return x;
  }

  RunRecords records_;
  DeviceTiled tensor_;  // without the records
  const Block block_;
  Buffer<T> head_, tail_;
  const Kernels<T> kernels_;
  const unsigned ends_bytes_;
  unsigned shared_ = 0;  // bytes of a thread block
};

}  // namespace

std::unique_ptr<Prepared> prepare_tuned_cuda(const Problem& problem, const Params& params,
                                             bool remap) {
  const Coo& x = problem.x();
  const device::Limits limits = device::facts();
  const Block block = tuned::block_of(problem, params, remap, limits);
  const Count slots = block.tile / (sizeof(std::uint32_t) * tiled_layout(x.dims, x.dtype()).words);
  const TileOptions options{
      .tile = static_cast<std::uint32_t>(std::min<Count>(slots / 4 * 4, 65536)),
      .unit = 4,
      .processors = static_cast<std::uint32_t>(limits.sms) * block.blocks(remap, limits),
      .remap = remap};
  Executed facts{{"prepared", "on the host"}};
  DeviceTiled tensor =
      params.word("prepare") == "host"
          ? upload(to_tiled(x, options))
          : made_on_device(x, facts, [&](const DeviceCoo& c) { return to_tiled(c, options); });
  return dispatch(problem.dtype(), [&]<class T>() -> std::unique_ptr<Prepared> {
    return std::make_unique<TunedRun<T>>(problem, std::move(tensor), std::move(facts), block,
                                         limits);
  });
}

}  // namespace retensor::flycoo
