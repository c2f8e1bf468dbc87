// The run of the tuned kernels on tiles (tuned_cuda.cuh), whatever type factors are gathered in.
// Included by .cu files alone.
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "common/device/device.hpp"
#include "common/device/shared.cuh"
#include "common/run/modes_run.cuh"
#include "papers/flycoo/format/records_device.cuh"
#include "papers/flycoo/format/tiles_device.cuh"
#include "papers/flycoo/kernels/tuned_cuda.cuh"

namespace retensor::flycoo::tuned {

using device::Buffer;

inline constexpr Count kLongFiber =
    8;  ///< nonzeros of a mean fiber from which walking by fibers gains

/// A tensor in the tiles that suit a device.
struct InTiles {
  Block block;
  device::Limits limits;
  Executed facts = {{"prepared", "on the host"}};
  DeviceTiled tensor;

  InTiles(const Problem& problem, const Params& params, Variant variant);
};

/// What a row of `stride` elements and the number of gathered modes choose.
template <class Pass>
struct Kernels {
  using Gathered = typename Pass::Gathered;
  void (*tile)(Pass, unsigned) = nullptr;
  void (*fiber)(Pass, unsigned) = nullptr;  ///< walks by fibers, if there is one
  void (*join)(Pass, const CutRow*) = nullptr;
  unsigned lanes = 0, column_tiles = 0;

  Kernels(unsigned stride, int others, bool remap) {
    constexpr unsigned kWidth = Pass::Sum::kWidth;
    device::with_lanes<Gathered>(stride + kWidth - 1, [&]<int kLanes>() {
      lanes = kLanes;
      join = join_rows<Pass, kLanes>;
      with_others(others, [&]<int kOthers>() {
        if constexpr (GatheredByEight<Gathered>)
          choose<kLanes, kOthers, false>();
        else
          remap ? choose<kLanes, kOthers, true>() : choose<kLanes, kOthers, false>();
      });
    });
    column_tiles = ((stride + kWidth - 1) / kWidth + lanes - 1) / lanes;
  }

 private:
  template <int kLanes, int kOthers, bool kRemap>
  void choose() {
    tile = tile_pass<Pass, kLanes, kOthers, kRemap, false>;
    if constexpr (kOthers == 2 || kOthers == 3)
      fiber = tile_pass<Pass, kLanes, kOthers, kRemap, true>;
  }
};

/// The factors of all modes in elements of type G: those of the sums' type are gathered where they
/// are.
template <class G>
struct GatheredRows {
  GatheredRows(const std::vector<Buffer<G>>&, const Dims&, unsigned) {}
  static Count bytes() { return 0; }
};

/// Sums in T, factor rows gathered in elements of type G.
template <class T, class G>
class TunedRun : public CudaModesRun<T> {
  using Pass = TilePass<T, G>;

 public:
  TunedRun(const Problem& problem, InTiles made)
      : CudaModesRun<T>(problem, made.tensor.remaps() ? "FLYCOO in tiles, remapped in the pass"
                                                      : "FLYCOO in tiles, a copy per mode"),
        records_(std::move(made.tensor.records), made.tensor.order()),
        tensor_(std::move(made.tensor)),
        block_(made.block),
        head_(Count{tensor_.tiles()} * this->stride_),
        tail_(Count{tensor_.tiles()} * this->stride_),
        gathered_(this->factors_, tensor_.dims, this->stride_),
        kernels_(this->stride_, tensor_.order() - 1, records_.remapped()),
        ends_bytes_(
            static_cast<unsigned>(bytes_of_ends(block_.walkers, kernels_.lanes, block_.sums))) {
    const Count words = records_.remapped() ? tensor_.tile * tensor_.record_words() : 0;
    shared_ = ends_bytes_ + static_cast<unsigned>((words + 3) / 4 * 16);
    shared_percent_ =
        shared_percent(block_.blocks(records_.remapped(), made.limits), shared_, made.limits);
    device::allow_all_shared(kernels_.tile);
    if (kernels_.fiber != nullptr) device::allow_all_shared(kernels_.fiber);
    this->count_bytes(tensor_, records_, head_, tail_, gathered_);
    this->executed_.merge(std::move(made.facts));
    this->executed_["tile"] = std::to_string(tensor_.tile);
    this->executed_["tiles"] = std::to_string(tensor_.tiles());
    this->executed_["walkers"] = std::to_string(block_.walkers);
    this->executed_["senders"] = std::to_string(block_.senders);
    this->executed_["record_bytes"] = std::to_string(4 * tensor_.record_words());
    std::string by_fiber;
    for (int m = 0; m < tensor_.order(); ++m) {
      if (!walks_fibers(m)) continue;
      if (!by_fiber.empty()) by_fiber += ' ';
      by_fiber += std::to_string(m + 1);
    }
    this->executed_["modes walked by fiber"] = by_fiber.empty() ? "none" : by_fiber;
    this->executed_["remap"] = records_.remapped() ? "in the pass" : "a copy per mode";
    if constexpr (Narrow<G>) this->executed_["class"] = "f16 gather";
  }

  Result result() override {
    records_.check_back();
    return CudaModesRun<T>::result();
  }

 private:
  bool walks_fibers(int mode) const {
    return kernels_.fiber != nullptr &&
           tensor_.modes[static_cast<std::size_t>(mode)].fibers * kLongFiber <= tensor_.nnz;
  }

  /// Factors may change between passes, so that each run converts them.
  void run_modes(std::span<const int> modes, StageTimer& timer) override {
    if constexpr (GatheredByEight<G>) gathered_.make(timer);
    CudaModesRun<T>::run_modes(modes, timer);
  }

  void pass(int mode, cudaStream_t stream) override {
    const Pass x = arguments(mode);
    const auto& cut = tensor_.modes[static_cast<std::size_t>(mode)].cut;
    launch_tiles(walks_fibers(mode) ? kernels_.fiber : kernels_.tile, x, stream);
    if (cut.size() > 0) {
      const dim3 rows(static_cast<unsigned>(cut.size()), kernels_.column_tiles);
      RETENSOR_CUDA_LAUNCH(kernels_.join, rows, kJoinThreads, 0, stream, x, cut.data());
    }
    records_.end_pass();
  }

  /// The share of an SM's memory goes with the launch: runs that take turns differ in it.
  template <class TileKernel>
  void launch_tiles(TileKernel kernel, const Pass& x, cudaStream_t stream) const {
    cudaLaunchAttribute share{};
    share.id = cudaLaunchAttributePreferredSharedMemoryCarveout;
    share.val.sharedMemCarveout = static_cast<unsigned>(shared_percent_);
    cudaLaunchConfig_t config{};
    config.gridDim = dim3(tensor_.tiles(), kernels_.column_tiles);
    config.blockDim = dim3(block_.threads());
    config.dynamicSmemBytes = shared_;
    config.stream = stream;
    config.attrs = &share, config.numAttrs = 1;
    RETENSOR_CUDA_CHECK(cudaLaunchKernelEx(&config, kernel, x, ends_bytes_));
  }

  Pass arguments(int mode) {
    const auto at = static_cast<std::size_t>(mode);
    const DeviceMode& m = tensor_.modes[at];
    Pass x;
    x.in = records_.in(mode), x.next_copy = records_.out();
    x.walk = m.walk.data(), x.leave = m.leave.data(), x.target = m.target.data();
    x.joined = m.joined.data();
    x.layout = tensor_.layout;
    const auto field = [&](std::size_t of) {
      const bool in_registers = tensor_.record_words() <= kRegisterWords;
      return WideField(tensor_.layout.index[of], in_registers);
    };
    x.row = field(at);
    // The modes before, the nearest first: what nonzeros of equal rows are ordered by.
    const auto order = static_cast<std::size_t>(tensor_.order());
    for (std::size_t back = 1; back < order; ++back) {
      const std::size_t other = (at + order - back) % order;
      x.other[x.others] = field(other);
      if constexpr (GatheredByEight<G>)
        x.factor[x.others] = gathered_.rows(other), x.largest[x.others] = gathered_.largest(other);
      else
        x.factor[x.others] = this->factors_[other].data();
      ++x.others;
    }
    if constexpr (GatheredByEight<G>) x.factor_stride = gathered_.stride();
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
  GatheredRows<G> gathered_;
  const Kernels<Pass> kernels_;
  const unsigned ends_bytes_;
  unsigned shared_ = 0;  // bytes of a thread block
  int shared_percent_ = 0;
};

}  // namespace retensor::flycoo::tuned
