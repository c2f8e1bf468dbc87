// The runs of flycoo.cuda.tuned, flycoo.cuda.copies and flycoo.cuda.narrow; the kernels stand in
// tuned_cuda.cuh and narrow_rows.cuh.
#include "papers/flycoo/kernels/tuned_cuda.hpp"

#include <algorithm>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

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
      join = tuned::join_rows<Pass, kLanes>;
      with_others(others, [&]<int kOthers>() {
        if constexpr (Narrow<Gathered>)
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
    tile = tuned::tile_pass<Pass, kLanes, kOthers, kRemap, false>;
    if constexpr (kOthers == 2 || kOthers == 3)
      fiber = tuned::tile_pass<Pass, kLanes, kOthers, kRemap, true>;
  }
};

/// The factors of all modes in elements of type G, made anew from those in single precision.
template <class G>
class NarrowRows {
 public:
  NarrowRows(const std::vector<Buffer<float>>& factors, const Dims& dims, unsigned stride)
      : rows_(dims.size()), largest_(tuned::kScaled<G> ? dims.size() : 0) {
    constexpr unsigned kWidth = device::Vec<G>::kWidth;
    all_.from_stride = stride, all_.to_stride = (stride + kWidth - 1) / kWidth * kWidth;
    if constexpr (tuned::kScaled<G>) all_.largest = largest_.data();
    for (std::size_t m = 0; m < dims.size(); ++m) {
      rows_[m] = Buffer<G>(dims[m] * all_.to_stride);
      all_.from[m] = factors[m].data(), all_.to[m] = rows_[m].data(), all_.rows[m] = dims[m];
    }
    const Count most = *std::max_element(dims.begin(), dims.end()) * (stride / 4);
    const Count at_once = 16 * static_cast<Count>(device::facts().sms);
    grid_ = dim3(static_cast<unsigned>(
                     std::clamp<Count>(most / tuned::kNarrowThreads, 1, at_once)),
                 static_cast<unsigned>(dims.size()));
  }
  const Buffer<G>& operator[](std::size_t mode) const { return rows_[mode]; }
  const std::uint32_t* largest(std::size_t mode) const { return largest_.data() + mode; }
  unsigned stride() const { return all_.to_stride; }
  Count bytes() const { return bytes_of(rows_) + largest_.bytes(); }

  void make(cudaStream_t stream) {
    if constexpr (tuned::kScaled<G>) {
      largest_.zero(stream);
      RETENSOR_CUDA_LAUNCH(tuned::find_largest<G>, grid_, tuned::kNarrowThreads, 0, stream, all_);
    }
    RETENSOR_CUDA_LAUNCH(tuned::narrow_rows<G>, grid_, tuned::kNarrowThreads, 0, stream, all_);
  }

 private:
  std::vector<Buffer<G>> rows_;
  Buffer<std::uint32_t> largest_;
  tuned::Narrowing<G> all_;
  dim3 grid_;
};
/// Factors whose elements have the type of the sums are gathered where they are.
template <class T>
struct SameRows {
  SameRows(const std::vector<Buffer<T>>&, const Dims&, unsigned) {}
  static Count bytes() { return 0; }
};

/// Sums in T, factor rows gathered in elements of type G.
template <class T, class G>
class TunedRun : public CudaModesRun<T> {
  using Pass = TilePass<T, G>;

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
        narrow_(this->factors_, tensor_.dims, this->stride_),
        kernels_(this->stride_, tensor_.order() - 1, records_.remapped()),
        ends_bytes_(static_cast<unsigned>(
            tuned::bytes_of_ends(block.walkers, kernels_.lanes, block.sums))) {
    const Count words = records_.remapped() ? tensor_.tile * tensor_.record_words() : 0;
    shared_ = ends_bytes_ + static_cast<unsigned>((words + 3) / 4 * 16);
    share_memory(kernels_.tile, limits);
    if (kernels_.fiber != nullptr) share_memory(kernels_.fiber, limits);
    this->count_bytes(tensor_, records_, head_, tail_, narrow_);
    this->executed_.merge(std::move(prepared));
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

  /// Factors may change between passes, so that each run converts them.
  void run_modes(std::span<const int> modes, StageTimer& timer) override {
    if constexpr (Narrow<G>) {
      timer.stage("convert");
      narrow_.make(stream_of(timer));
    }
    CudaModesRun<T>::run_modes(modes, timer);
  }

  void pass(int mode, cudaStream_t stream) override {
    const Pass x = arguments(mode);
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

  Pass arguments(int mode) {
    const auto at = static_cast<std::size_t>(mode);
    const DeviceMode& m = tensor_.modes[at];
    Pass x;
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
      if constexpr (Narrow<G>)
        x.factor[x.others] = narrow_[other].data(), x.largest[x.others] = narrow_.largest(other);
      else
        x.factor[x.others] = this->factors_[other].data();
      ++x.others;
    }
    if constexpr (Narrow<G>) x.factor_stride = narrow_.stride();
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
  std::conditional_t<Narrow<G>, NarrowRows<G>, SameRows<T>> narrow_;
  const Kernels<Pass> kernels_;
  const unsigned ends_bytes_;
  unsigned shared_ = 0;  // bytes of a thread block
};

/// A run whose types of values and of gathered elements the problem and the parameters name.
template <class... Arguments>
std::unique_ptr<Prepared> make_run(const Problem& problem, const Params& params,
                                   tuned::Variant variant, Arguments&&... arguments) {
  const auto make = [&]<class T, class G>() -> std::unique_ptr<Prepared> {
    return std::make_unique<TunedRun<T, G>>(problem, std::forward<Arguments>(arguments)...);
  };
  if (variant == tuned::Variant::narrow)
    return params.word("gather") == "f16" ? make.template operator()<float, __half>()
                                          : make.template operator()<float, __nv_bfloat16>();
  return dispatch(problem.dtype(), [&]<class T>() { return make.template operator()<T, T>(); });
}

}  // namespace

std::unique_ptr<Prepared> prepare_tuned_cuda(const Problem& problem, const Params& params,
                                             tuned::Variant variant) {
  const Coo& x = problem.x();
  const bool remap = variant == tuned::Variant::remapped;
  const device::Limits limits = device::facts();
  const Block block = tuned::block_of(problem, params, variant, limits);
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
  return make_run(problem, params, variant, std::move(tensor), std::move(facts), block, limits);
}

}  // namespace retensor::flycoo
