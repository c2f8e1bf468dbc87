// The runs of flycoo.cuda.tuned and flycoo.cuda.copies; the kernels stand in tuned_cuda.cuh.
#include "papers/flycoo/kernels/tuned_cuda.hpp"

#include <algorithm>
#include <optional>

#include "common/device/device.hpp"
#include "papers/flycoo/format/flycoo.hpp"
#include "papers/flycoo/format/records_device.cuh"
#include "papers/flycoo/format/tiles_device.cuh"
#include "papers/flycoo/kernels/run_cuda.cuh"
#include "papers/flycoo/kernels/tuned_cuda.cuh"

namespace retensor::flycoo {
namespace {

using device::Buffer;
using device::Vec;
using tuned::Block;
using tuned::TilePass;

constexpr Count kLongFiber = 8;  // nonzeros of a mean fiber from which on walking by fibers gained

template <class T>
class TunedRun : public AllModesRun<T> {
 public:
  TunedRun(const Problem& problem, DeviceTiled tensor, Executed prepared, const Block& block,
           const device::Limits& limits)
      : AllModesRun<T>(problem, tensor.remaps() ? "FLYCOO in tiles, remapped in the pass"
                                                : "FLYCOO in tiles, a copy per mode"),
        tensor_(std::move(tensor)),
        block_(block),
        head_(Count{tensor_.tiles()} * this->stride_),
        tail_(Count{tensor_.tiles()} * this->stride_) {
    if (tensor_.remaps()) {
      copies_.emplace(std::move(tensor_.records.front()));
      this->count_bytes(*copies_);
    }
    this->count_bytes(tensor_);
    this->count_bytes(head_, tail_);
    choose_kernels(limits);
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
    this->executed_["remap"] = tensor_.remaps() ? "in the pass" : "a copy per mode";
  }

 private:
  using TileKernel = void (*)(TilePass<T>, unsigned);
  using JoinKernel = void (*)(TilePass<T>, const CutRow*);

  void choose_kernels(const device::Limits& limits) {
    const bool remap = tensor_.remaps();
    device::with_lanes<T>(this->stride_, [&]<int kLanes>() {
      lanes_ = kLanes;
      join_ = tuned::join_rows<T, kLanes>;
      with_others(tensor_.order() - 1, [&]<int kOthers>() {
        kernel_ = remap ? tuned::tile_pass<T, kLanes, kOthers, true, false>
                        : tuned::tile_pass<T, kLanes, kOthers, false, false>;
        if constexpr (kOthers == 2 || kOthers == 3)
          fiber_kernel_ = remap ? tuned::tile_pass<T, kLanes, kOthers, true, true>
                                : tuned::tile_pass<T, kLanes, kOthers, false, true>;
      });
    });
    ends_bytes_ = static_cast<unsigned>(tuned::bytes_of_ends(block_.walkers, lanes_));
    const Count records = remap ? tensor_.tile * tensor_.record_words() : 0;
    shared_ = ends_bytes_ + static_cast<unsigned>((records + 3) / 4 * 16);
    for (const auto kernel : {kernel_, fiber_kernel_})
      if (kernel != nullptr) share_memory(kernel, limits);
    column_tiles_ = (this->stride_ / Vec<T>::kWidth + lanes_ - 1) / lanes_;
  }

  void share_memory(TileKernel kernel, const device::Limits& limits) const {
    const unsigned blocks = block_.blocks(tensor_.remaps(), limits);
    RETENSOR_CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                             static_cast<int>(shared_)));
    RETENSOR_CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout,
                                             tuned::shared_percent(blocks, shared_, limits)));
  }

  bool walks_fibers(int mode) const {
    return fiber_kernel_ != nullptr &&
           tensor_.modes[static_cast<std::size_t>(mode)].fibers * kLongFiber <= tensor_.nnz;
  }

  void pass(int mode, cudaStream_t stream) override {
    const auto at = static_cast<std::size_t>(mode);
    const DeviceMode& streams = tensor_.modes[at];
    const TilePass<T> x = arguments(mode);
    const dim3 grid(tensor_.tiles(), column_tiles_);
    const TileKernel kernel = walks_fibers(mode) ? fiber_kernel_ : kernel_;
    RETENSOR_CUDA_LAUNCH(kernel, grid, block_.threads(), shared_, stream, x, ends_bytes_);
    if (streams.cut.size() > 0) {
      const dim3 rows(static_cast<unsigned>(streams.cut.size()), column_tiles_);
      RETENSOR_CUDA_LAUNCH(join_, rows, tuned::kJoinThreads, 0, stream, x, streams.cut.data());
    }
    if (copies_) copies_->swap();
  }

  TilePass<T> arguments(int mode) {
    const auto at = static_cast<std::size_t>(mode);
    TilePass<T> x;
    x.in = copies_ ? copies_->in() : tensor_.records[at].data();
    if (copies_) {
      x.next_copy = copies_->out();
      x.walk = tensor_.modes[at].walk.data(), x.leave = tensor_.modes[at].leave.data();
      x.target = tensor_.modes[at].target.data();
    }
    x.joined = tensor_.modes[at].joined.data();
    x.layout = tensor_.layout;
    const auto field = [&](std::size_t m) {
      const bool in_registers = tensor_.record_words() <= tuned::kRegisterWords;
      return tuned::WideField(tensor_.layout.index[m], in_registers);
    };
    x.row = field(at);
    // The modes before, the nearest first: what nonzeros of equal rows are ordered by.
    const auto order = static_cast<std::size_t>(tensor_.order());
    for (std::size_t back = 1; back < order; ++back) {
      const std::size_t m = (at + order - back) % order;
      x.other[x.others] = field(m);
      x.factor[x.others++] = this->factors_[m].data();
    }
    x.out = this->rows_of(mode);
    x.head = head_.data(), x.tail = tail_.data();
    x.nnz = tensor_.nnz, x.tile = tensor_.tile, x.stride = this->stride_;
    x.walkers = block_.walkers;
    x.per_words = static_cast<unsigned>((Count{1} << 32) / tensor_.record_words() + 1);
    return x;
  }

  void check_finished() const override {
    if (copies_) copies_->check_back();
  }

  DeviceTiled tensor_;  // with remapping without the records, which the copies hold
  const Block block_;
  std::optional<Copies> copies_;
  Buffer<T> head_, tail_;
  TileKernel kernel_ = nullptr, fiber_kernel_ = nullptr;
  JoinKernel join_ = nullptr;
  unsigned lanes_ = 0, column_tiles_ = 0, ends_bytes_ = 0, shared_ = 0;
};

}  // namespace

std::unique_ptr<Prepared> prepare_tuned_cuda(const Problem& problem, const Params& params,
                                             bool remap) {
  const Coo& x = problem.x();
  const auto layout =
      record_layout(x.dims, x.dtype(), {.indices = Indices::packed, .ids = Ids::stream}, x.nnz());
  const device::Limits limits = device::facts();
  const Block block = tuned::block_of(problem, params, remap, limits);
  const Count slots = block.tile / (4 * static_cast<Count>(layout.words));
  TileOptions options;
  options.tile = static_cast<std::uint32_t>(std::min<Count>(slots / 4 * 4, 65536));
  options.processors = static_cast<std::uint32_t>(limits.sms) * block.blocks(remap, limits);
  options.unit = 4;
  options.remap = remap;
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
