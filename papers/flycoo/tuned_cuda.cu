// The runs of flycoo.cuda.tuned and flycoo.cuda.copies; the kernels stand in kernels_tuned.cuh.
#include <algorithm>
#include <optional>

#include "common/device/device.hpp"
#include "papers/flycoo/cuda_run.cuh"
#include "papers/flycoo/kernels_tuned.cuh"
#include "papers/flycoo/methods_cuda.hpp"

namespace retensor::flycoo {
namespace {

using device::Buffer;
using device::Vec;
using tuned::TilePass;

constexpr Count kKibi = 1024;
constexpr Count kSharedOfSm = 227;  // KiB that thread blocks of compute capability 9.0 can have

/// The streams of one mode on the device.
struct DeviceMode {
  DeviceMode(const TiledMode& m)
      : walk(std::span<const std::uint16_t>(m.walk)),
        leave(std::span<const std::uint16_t>(m.leave)),
        target(std::span<const std::uint32_t>(m.target)),
        joined(m.joined),
        cut(m.cut) {}
  Buffer<std::uint16_t> walk, leave;
  Buffer<std::uint32_t> target;
  Buffer<std::uint8_t> joined;
  Buffer<CutRow> cut;
};

template <class T>
class TunedRun : public AllModesRun<T> {
 public:
  TunedRun(const Problem& problem, Tiled tensor, unsigned walkers, unsigned senders)
      : AllModesRun<T>(problem, tensor.remaps() ? "FLYCOO in tiles, remapped in the pass"
                                                : "FLYCOO in tiles, a copy per mode"),
        tensor_(std::move(tensor)),
        walkers_(walkers),
        senders_(senders),
        head_(Count{tensor_.tiles()} * this->stride_),
        tail_(Count{tensor_.tiles()} * this->stride_) {
    for (const auto& m : tensor_.modes) {
      modes_.emplace_back(m);
      const auto& d = modes_.back();
      this->count_bytes(d.walk, d.leave, d.target, d.joined, d.cut);
    }
    if (tensor_.remaps()) copies_.emplace(tensor_.records.front());
    if (tensor_.remaps()) this->count_bytes(*copies_);
    for (const auto& records : tensor_.records)
      if (!tensor_.remaps()) per_mode_.push_back(upload_records(records));
    for (const auto& copy : per_mode_) this->count_bytes(copy);
    this->count_bytes(head_, tail_);
    choose_kernels();
    this->executed_["tile"] = std::to_string(tensor_.tile);
    this->executed_["tiles"] = std::to_string(tensor_.tiles());
    this->executed_["walkers"] = std::to_string(walkers_);
    this->executed_["senders"] = std::to_string(senders_);
    this->executed_["record_bytes"] = std::to_string(4 * tensor_.record_words());
    this->executed_["remap"] = tensor_.remaps() ? "in the pass" : "a copy per mode";
  }

 private:
  using TileKernel = void (*)(TilePass<T>, unsigned);
  using JoinKernel = void (*)(TilePass<T>, const CutRow*);

  void choose_kernels() {
    const int others = tensor_.order() - 1;
    device::with_lanes<T>(this->stride_, [&]<int kLanes>() {
      lanes_ = kLanes;
      join_ = tuned::join_rows<T, kLanes>;
      with_others(others, [&]<int kOthers>() {
        kernel_ = tensor_.remaps() ? tuned::tile_pass<T, kLanes, kOthers, true>
                                   : tuned::tile_pass<T, kLanes, kOthers, false>;
      });
    });
    ends_bytes_ = static_cast<unsigned>((tuned::bytes_of_ends(walkers_, lanes_) + 15) / 16 * 16);
    const Count records = tensor_.remaps() ? tensor_.tile * tensor_.record_words() : 0;
    shared_ = ends_bytes_ + static_cast<unsigned>((records + 3) / 4 * 16);
    RETENSOR_CUDA_CHECK(cudaFuncSetAttribute(kernel_, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                             static_cast<int>(shared_)));
    column_tiles_ = (this->stride_ / Vec<T>::kWidth + lanes_ - 1) / lanes_;
  }

  void pass(int mode, cudaStream_t stream) override {
    const auto at = static_cast<std::size_t>(mode);
    const DeviceMode& streams = modes_[at];
    const TilePass<T> x = arguments(mode);
    const dim3 grid(tensor_.tiles(), column_tiles_);
    RETENSOR_CUDA_LAUNCH(kernel_, grid, walkers_ + senders_, shared_, stream, x, ends_bytes_);
    if (streams.cut.size() > 0) {
      const dim3 rows(static_cast<unsigned>(streams.cut.size()), column_tiles_);
      RETENSOR_CUDA_LAUNCH(join_, rows, tuned::kJoinThreads, 0, stream, x, streams.cut.data());
    }
    if (copies_) copies_->swap();
  }

  TilePass<T> arguments(int mode) {
    const auto at = static_cast<std::size_t>(mode);
    TilePass<T> x;
    x.in = copies_ ? copies_->in() : per_mode_[at].data();
    if (copies_) {
      x.next_copy = copies_->out();
      x.walk = modes_[at].walk.data(), x.leave = modes_[at].leave.data();
      x.target = modes_[at].target.data();
    }
    x.joined = modes_[at].joined.data();
    x.layout = tensor_.layout;
    x.row = tuned::WideField(tensor_.layout.index[mode]);
    for (const std::size_t m : this->gathered(mode)) {
      x.other[x.others] = tuned::WideField(tensor_.layout.index[m]);
      x.factor[x.others++] = this->factors_[m].data();
    }
    x.out = this->rows_of(mode);
    x.head = head_.data(), x.tail = tail_.data();
    x.nnz = tensor_.nnz, x.tile = tensor_.tile, x.stride = this->stride_;
    x.walkers = walkers_;
    x.per_words = static_cast<unsigned>((Count{1} << 32) / tensor_.record_words() + 1);
    return x;
  }

  void check_finished() const override {
    if (copies_) copies_->check_back();
  }

  const Tiled tensor_;
  const unsigned walkers_, senders_;
  std::vector<DeviceMode> modes_;
  std::optional<Copies> copies_;                 // with remapping
  std::vector<Buffer<std::uint32_t>> per_mode_;  // without
  Buffer<T> head_, tail_;
  TileKernel kernel_ = nullptr;
  JoinKernel join_ = nullptr;
  unsigned lanes_ = 0, column_tiles_ = 0, ends_bytes_ = 0, shared_ = 0;
};

}  // namespace

std::unique_ptr<Prepared> prepare_tuned_cuda(const Problem& problem, const Params& params,
                                             bool remap) {
  const Coo& x = problem.x();
  const auto layout =
      record_layout(x.dims, x.dtype(), {.indices = Indices::packed, .ids = Ids::stream}, x.nnz());
  const Count bytes = static_cast<Count>(params.integer("tile")) * kKibi;
  const Count slots = bytes / (4 * static_cast<Count>(layout.words));
  const auto walkers = static_cast<unsigned>(params.integer("walkers"));
  const auto senders = remap ? static_cast<unsigned>(params.integer("senders")) : 0;
  const Count shared = tuned::bytes_of_ends(walkers, 4) + (remap ? bytes : 0);
  const Count blocks =
      std::min<Count>(kSharedOfSm * kKibi / shared, tuned::kMostThreads / (walkers + senders));
  TileOptions options;
  options.tile = static_cast<std::uint32_t>(std::min<Count>(slots / 4 * 4, 65536));
  options.processors = static_cast<std::uint32_t>(static_cast<Count>(device::facts().sms) *
                                                  std::max<Count>(blocks, 1));
  options.unit = 4;
  options.remap = remap;
  return dispatch(problem.dtype(), [&]<class T>() -> std::unique_ptr<Prepared> {
    return std::make_unique<TunedRun<T>>(problem, to_tiled(x, options), walkers, senders);
  });
}

}  // namespace retensor::flycoo
