// Runs of pasta.cuda.streamed: MTTKRP, and with it SpMM, of a tensor that stays in the host's
// memory, or in a file that is larger. Its nonzeros pass through two buffers of the device in
// parts; while the kernels of one part run, the next is copied. A run over all modes uses each part
// for all of them, so that each nonzero crosses the bus once, with its indices packed into as few
// words as hold them. The kernel is that of pasta.cuda.tuned on nonzeros in any order.
#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "common/device/device.hpp"
#include "common/device/order.cuh"
#include "common/device/pinned.cuh"
#include "common/run/modes_run.cuh"
#include "papers/pasta/format/packed.hpp"
#include "papers/pasta/kernels/prepare_cuda.hpp"
#include "papers/pasta/kernels/tuned_cuda.cuh"

namespace retensor::pasta {
namespace {

constexpr unsigned kChunk = 128;  // nonzeros of a group of lanes, as of pasta.cuda.tuned
constexpr Count kUnit = 4;        // nonzeros of a part are a multiple: its arrays begin at 16 bytes
constexpr unsigned kBlock = 256;

using device::Milestone;
using device::Pinned;

/// In as few parts as have room for `most` of the nonzeros each.
Count even_part(Count nnz, Count most) {
  const Count parts = std::max((nnz + most - 1) / most, Count{1});
  return std::max((nnz + parts * kUnit - 1) / (parts * kUnit), Count{1}) * kUnit;
}

/// The nonzeros in parts of equal size. Those of a tensor in memory are packed once and kept; those
/// of a file are packed for each run into two buffers in turn. What fills the last part up is never
/// read by a kernel.
template <class T>
class HostParts {
 public:
  /// `buffer_bytes` of the device hold two parts and the indices of one.
  HostParts(Nonzeros x, Count buffer_bytes)
      : x_(std::move(x)),
        layout_(x_.dims),
        in_part_(even_part(x_.nnz, most_in_part(x_.dims, buffer_bytes))),
        pinned_(bytes()) {
    for (Count k = 0; !x_.file && k < count(); ++k) fill(k);
  }

  /// Nonzeros that a part has room for.
  static Count most_in_part(const Dims& dims, Count buffer_bytes) {
    return std::max(buffer_bytes / device_bytes(dims) / kUnit, Count{1}) * kUnit;
  }
  /// Of a nonzero that a part has room for.
  static Count device_bytes(const Dims& dims) {
    return 2 * packed_bytes<T>(PackedLayout(dims)) + dims.size() * sizeof(Index);
  }

  const PackedLayout& layout() const { return layout_; }
  Count room() const { return in_part_; }
  Count count() const { return (x_.nnz + in_part_ - 1) / in_part_; }
  Count length(Count k) const { return std::min(in_part_, x_.nnz - k * in_part_); }
  Count part_bytes() const { return in_part_ * packed_bytes<T>(layout_); }
  /// Of pinned memory.
  Count bytes() const { return (x_.file ? std::min(count(), kBuffers) : count()) * part_bytes(); }

  /// Copies the k-th part to `to`.
  void copy(Count k, std::byte* to, cudaStream_t stream) {
    if (x_.file) {
      copied_[k % kBuffers].awaited();
      fill(k);
    }
    RETENSOR_CUDA_CHECK(
        cudaMemcpyAsync(to, place(k), part_bytes(), cudaMemcpyHostToDevice, stream));
    if (x_.file) copied_[k % kBuffers].reached(stream);
  }

 private:
  static constexpr Count kBuffers = 2;

  std::byte* place(Count k) { return pinned_.data() + (x_.file ? k % kBuffers : k) * part_bytes(); }
  void fill(Count k) { pack<T>(x_, layout_, k * in_part_, length(k), in_part_, place(k)); }

  const Nonzeros x_;
  const PackedLayout layout_;
  const Count in_part_;
  Pinned<std::byte> pinned_;
  std::array<Milestone, kBuffers> copied_;
};

/// The indices of a part, an array for each mode.
__global__ void unpack(PackedLayout layout, const std::uint32_t* words, Count room, Count nnz,
                       Index* indices) {
  const Count x = device::thread_of_grid();
  if (x >= nnz) return;
  for (int m = 0; m < layout.order; ++m)
    indices[static_cast<Count>(m) * room + x] =
        layout.index(m, [&](unsigned w) { return __ldg(words + w * room + x); });
}

Nonzeros nonzeros_of(const Problem& problem, const std::string& file) {
  const Coo& x = problem.x();
  if (file.empty()) return Nonzeros(x);
  Nonzeros mapped(std::make_shared<const MappedCache>(file));
  if (mapped.dims != x.dims || (x.nnz() > 0 && mapped.nnz != x.nnz()))
    throw InputError(file + ": found a tensor of another shape or with another number of " +
                     "nonzeros than the problem's");
  return mapped;
}

Count buffer_of(const Params& params) {
  return static_cast<Count>(params.integer("buffer")) << 20;
}

/// Seconds of a run.
struct Alone {
  double copies = 0, kernels = 0;
};

template <class T>
class StreamedRun final : public CudaModesRun<T> {
 public:
  StreamedRun(const Problem& problem, const Params& params)
      : CudaModesRun<T>(problem, "tuned MTTKRP of parts from the host"),
        parts_(nonzeros_of(problem, params.word("file")), buffer_of(params)) {
    if (parts_.count() > 0) {
      for (auto& slot : slots_) slot.data = device::Buffer<std::byte>(parts_.part_bytes());
      indices_ = device::Buffer<Index>(problem.x().dims.size() * parts_.room());
    }
    this->count_bytes(slots_[0].data, slots_[1].data, indices_);
    this->executed_["parts"] = std::to_string(parts_.count());
    this->executed_["bytes of a part"] = std::to_string(parts_.part_bytes());
    this->executed_["words of a nonzero's indices"] = std::to_string(parts_.layout().words);
    if (params.flag("alone")) {
      const auto took = alone();
      this->executed_["seconds of copies alone"] = std::to_string(took.copies);
      this->executed_["seconds of kernels alone"] = std::to_string(took.kernels);
    }
  }

  Footprint footprint() const override { return {parts_.bytes(), this->bytes_}; }
  /// Bytes of the device if parts had room for so many nonzeros.
  Count device_bytes_with(Count room) const {
    const Count each = HostParts<T>::device_bytes(this->problem_.x().dims);
    return this->bytes_ - (parts_.count() > 0 ? parts_.room() : 0) * each + room * each;
  }

  /// Of copies and kernels when nothing else happens.
  Alone alone() {
    device::Stream stream;
    const auto seconds = [&](auto&& work) {
      device::Event begin, end;
      for (Count k = 0; k < parts_.count(); ++k) work(k);  // what a first launch costs
      begin.record(stream.get());
      for (Count k = 0; k < parts_.count(); ++k) work(k);
      end.record(stream.get());
      end.synchronise();
      return end.seconds_since(begin);
    };
    return {seconds([&](Count k) { parts_.copy(k, slot(k).data.data(), stream.get()); }),
            seconds([&](Count k) { launch(k, this->modes_, stream.get()); })};
  }

 private:
  struct Slot {
    device::Buffer<std::byte> data;
    Milestone filled, used;
  };
  Slot& slot(Count part) { return slots_[part % slots_.size()]; }

  void launch(Count part, std::span<const int> modes, cudaStream_t stream) {
    at_hand_ = part;
    const Count nnz = parts_.length(part);
    RETENSOR_CUDA_LAUNCH(unpack, device::blocks_for(nnz, kBlock), kBlock, 0, stream,
                         parts_.layout(), words(), parts_.room(), nnz, indices_.data());
    for (const int mode : modes) pass(mode, stream);
  }

  void run_modes(std::span<const int> modes, StageTimer& timer) override {
    const auto stream = stream_of(timer);
    timer.stage("zero");
    Count rows = 0;
    for (const int m : modes) rows += this->length(m);
    RETENSOR_CUDA_CHECK(
        cudaMemsetAsync(this->rows_of(modes.front()), 0, rows * this->stride_ * sizeof(T), stream));
    timer.stage("stream");
    begun_.reached(stream);
    begun_.awaited(copies_.get());
    for (Count k = 0; k < parts_.count(); ++k) {
      // Of a run before this one all has been used that `begun_` waits for.
      if (k >= slots_.size()) slot(k).used.awaited(copies_.get());
      parts_.copy(k, slot(k).data.data(), copies_.get());
      slot(k).filled.reached(copies_.get());
      slot(k).filled.awaited(stream);
      launch(k, modes, stream);
      slot(k).used.reached(stream);
    }
  }

  const std::uint32_t* words() {
    return reinterpret_cast<const std::uint32_t*>(slot(at_hand_).data.data());
  }

  /// Of the part at hand, whose indices are unpacked.
  void pass(int mode, cudaStream_t stream) override {
    const auto index = [&](std::size_t m) { return indices_.data() + m * parts_.room(); };
    tuned::Gather<T> x;
    for (const std::size_t m : this->gathered(mode)) {
      x.factor[x.others] = this->factors_[m].data();
      x.index[x.others++] = index(m);
    }
    x.value = reinterpret_cast<const T*>(words() + parts_.layout().words * parts_.room());
    x.out = this->rows_of(mode), x.nnz = parts_.length(at_hand_), x.stride = this->stride_;
    device::with_lanes<T>(x.stride, [&]<int kLanes>() {
      with_others(x.others, [&]<int kOthers>() {
        constexpr unsigned kColumns = kLanes * device::Vec<T>::kWidth;
        const dim3 grid(device::blocks_for((x.nnz + kChunk - 1) / kChunk * kLanes, tuned::kThreads),
                        (x.stride + kColumns - 1) / kColumns);
        RETENSOR_CUDA_LAUNCH((tuned::runs<T, kLanes, kOthers>), grid, tuned::kThreads, 0, stream, x,
                             index(this->at(mode)), kChunk);
      });
    });
  }

  HostParts<T> parts_;
  std::array<Slot, 2> slots_;
  device::Buffer<Index> indices_;
  Count at_hand_ = 0;  // the part whose nonzeros `pass` takes
  const device::SideStream copies_;
  Milestone begun_;
};

/// Sparse times dense: the MTTKRP of mode 0 of a matrix with the dense one as the other factor.
class ProductRun final : public Prepared {
 public:
  ProductRun(const Problem& problem, const Params& params)
      : problem_(problem),
        mttkrp_(Problem::with_factors(of_mode_0(problem.spec()),
                                      {std::shared_ptr<const Coo>(), &problem.x()}, factors_)),
        run_(make_typed_run<StreamedRun>(mttkrp_, params)) {}

  void run(StageTimer& timer) override { run_->run(timer); }
  Result result() override { return run_->result(); }
  Executed executed() const override { return run_->executed(); }
  Footprint footprint() const override { return run_->footprint(); }
  Work work() const override { return work_model(problem_); }
  void refresh(int) override {
    factors_->back() = problem_.dense().front();
    run_->refresh(1);
  }

  static ProblemSpec of_mode_0(ProblemSpec spec) {
    spec.operation = Operation::mttkrp;
    spec.mode = 0;
    return spec;
  }

 private:
  const Problem& problem_;
  const std::shared_ptr<std::vector<Matrix>> factors_ = std::make_shared<std::vector<Matrix>>(
      std::vector<Matrix>{Matrix(0, problem_.rank(), problem_.dtype()), problem_.dense().front()});
  const Problem mttkrp_;
  const std::unique_ptr<Prepared> run_;
};

/// The faster of two runs, in seconds.
double seconds_of(Prepared& run) {
  const auto timer = device::make_event_timer();
  const auto once = [&] {
    timer->start();
    run.run(*timer);
    double sum = 0;
    for (const auto& stage : timer->stop()) sum += stage.second;
    return sum;
  };
  const double first = once();
  return std::min(first, once());
}

/// A few parts run as the tensor's would; beyond them each takes as long as the later ones of
/// these. Of long parts half as many will do.
template <class T>
Prediction predicted(const Problem& outline, const Params& params) {
  constexpr Count kParts = 6, kEnough = Count{1} << 24;  // nonzeros
  const Coo& x = outline.x();
  const Count nnz = outline.nonzeros();
  const Count room = even_part(nnz, HostParts<T>::most_in_part(x.dims, buffer_of(params)));
  const Count parts = kParts * room > kEnough ? kParts / 2 : kParts;
  const Count sample = std::min({nnz, parts * room, x.nnz() > 0 ? x.nnz() : nnz});
  const auto spec = outline.operation() == Operation::spmm ? ProductRun::of_mode_0(outline.spec())
                                                           : outline.spec();
  Prediction p;
  const Problem drawn(spec, std::make_shared<const Coo>(x.dims, x.dtype()));
  const std::shared_ptr<const std::vector<Matrix>> factors(std::shared_ptr<void>(), &drawn.dense());
  const auto seconds = [&](Count nonzeros) {
    const auto problem = Problem::with_factors(spec, outline_sample(x, nonzeros, nnz), factors);
    StreamedRun<T> run(problem, params);
    p.device_bytes = run.device_bytes_with(room);
    return seconds_of(run);
  };
  p.host_bytes = (nnz + room - 1) / room * room * packed_bytes<T>(PackedLayout(x.dims));
  p.seconds = seconds(sample);
  if (const Count few = parts / 3 * room; nnz > sample && few < sample)
    p.seconds += (p.seconds - seconds(few)) / static_cast<double>(sample - few) *
                 static_cast<double>(nnz - sample);
  return p;
}

}  // namespace

std::unique_ptr<Prepared> prepare_streamed_cuda(const Problem& problem, const Params& params) {
  if (problem.operation() == Operation::spmm) return std::make_unique<ProductRun>(problem, params);
  return make_typed_run<StreamedRun>(problem, params);
}

Prediction predict_streamed_cuda(const Problem& outline, const Params& params) {
  return dispatch(outline.dtype(), [&]<class T>() { return predicted<T>(outline, params); });
}

}  // namespace retensor::pasta
