// Runs of pasta.cuda.streamed: MTTKRP of a tensor that stays in the host's memory. Its nonzeros
// pass through two buffers of the device in parts; while the kernels of one part run, the next is
// copied. A run over all modes uses each part for all of them, so that each nonzero crosses the bus
// once. The kernel is that of pasta.cuda.tuned on nonzeros in any order.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "common/run/modes_run.cuh"
#include "papers/pasta/kernels/prepare_cuda.hpp"
#include "papers/pasta/kernels/tuned_cuda.cuh"

namespace retensor::pasta {
namespace {

constexpr unsigned kChunk = 128;  // nonzeros of a group of lanes, as of pasta.cuda.tuned
constexpr Count kUnit = 4;        // nonzeros of a part are a multiple: its arrays begin at 16 bytes

struct Release {
  void operator()(std::byte* host) const { cudaFreeHost(host); }
  void operator()(cudaStream_t stream) const { cudaStreamDestroy(stream); }
  void operator()(cudaEvent_t event) const { cudaEventDestroy(event); }
};
template <class T>
using Owned = std::unique_ptr<T, Release>;

/// Host memory that the device copies from beside kernels.
Owned<std::byte> pinned(Count bytes) {
  void* data = nullptr;
  if (bytes > 0) RETENSOR_CUDA_CHECK(cudaHostAlloc(&data, bytes, cudaHostAllocDefault));
  return Owned<std::byte>(static_cast<std::byte*>(data));
}

/// A stream that waits for nothing but what it is told to.
Owned<CUstream_st> copy_stream() {
  cudaStream_t stream = nullptr;
  RETENSOR_CUDA_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  return Owned<CUstream_st>(stream);
}

/// Orders work of one stream behind that of another.
class Mark {
 public:
  Mark() {
    cudaEvent_t event = nullptr;
    RETENSOR_CUDA_CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    event_.reset(event);
  }
  void reached(cudaStream_t by) { RETENSOR_CUDA_CHECK(cudaEventRecord(event_.get(), by)); }
  void awaited(cudaStream_t by) { RETENSOR_CUDA_CHECK(cudaStreamWaitEvent(by, event_.get())); }

 private:
  Owned<CUevent_st> event_;
};

/// The nonzeros in parts of equal size: index arrays, then values. What fills the last part up is
/// never read by a kernel.
template <class T>
class HostParts {
 public:
  HostParts(const Coo& x, Count buffer_bytes)
      : nnz_(x.nnz()),
        record_bytes_(x.indices.size() * sizeof(Index) + sizeof(T)),
        in_part_(std::max(buffer_bytes / 2 / record_bytes_ / kUnit, Count{1}) * kUnit),
        pinned_(pinned(bytes())) {
    const auto values = x.values.as<T>();
    for (Count k = 0; k < count(); ++k) {
      const Count first = k * in_part_;
      for (std::size_t m = 0; m < x.indices.size(); ++m)
        std::memcpy(pinned_.get() + k * part_bytes() + index_at(m), x.indices[m].data() + first,
                    length(k) * sizeof(Index));
      std::memcpy(pinned_.get() + k * part_bytes() + value_at(), values.data() + first,
                  length(k) * sizeof(T));
    }
  }

  Count count() const { return (nnz_ + in_part_ - 1) / in_part_; }
  Count length(Count k) const { return std::min(in_part_, nnz_ - k * in_part_); }
  Count part_bytes() const { return in_part_ * record_bytes_; }
  Count bytes() const { return count() * part_bytes(); }
  const std::byte* part(Count k) const { return pinned_.get() + k * part_bytes(); }
  /// Where arrays begin in a part.
  Count index_at(std::size_t mode) const { return mode * in_part_ * sizeof(Index); }
  Count value_at() const { return in_part_ * (record_bytes_ - sizeof(T)); }

 private:
  const Count nnz_, record_bytes_, in_part_;
  const Owned<std::byte> pinned_;
};

template <class T>
class StreamedRun final : public CudaModesRun<T> {
 public:
  StreamedRun(const Problem& problem, const Params& params)
      : CudaModesRun<T>(problem, "tuned MTTKRP of parts from the host"),
        parts_(problem.x(), static_cast<Count>(params.integer("buffer")) << 20) {
    for (auto& slot : slots_) {
      slot.data = device::Buffer<std::byte>(parts_.count() > 0 ? parts_.part_bytes() : 0);
      this->count_bytes(slot.data);
    }
    this->executed_["parts"] = std::to_string(parts_.count());
    this->executed_["bytes of a part"] = std::to_string(parts_.part_bytes());
    if (params.flag("alone")) time_alone();
  }

  Footprint footprint() const override { return {parts_.bytes(), this->bytes_}; }

 private:
  struct Slot {
    device::Buffer<std::byte> data;
    Mark filled, used;
  };
  Slot& slot(Count part) { return slots_[part % slots_.size()]; }

  void copy(Count part, cudaStream_t stream) {
    RETENSOR_CUDA_CHECK(cudaMemcpyAsync(slot(part).data.data(), parts_.part(part),
                                        parts_.part_bytes(), cudaMemcpyHostToDevice, stream));
  }
  void launch(Count part, std::span<const int> modes, cudaStream_t stream) {
    at_hand_ = part;
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
      copy(k, copies_.get());
      slot(k).filled.reached(copies_.get());
      slot(k).filled.awaited(stream);
      launch(k, modes, stream);
      slot(k).used.reached(stream);
    }
  }

  /// Of the part at hand.
  void pass(int mode, cudaStream_t stream) override {
    auto* const data = slot(at_hand_).data.data();
    const auto index = [&](std::size_t m) {
      return reinterpret_cast<const Index*>(data + parts_.index_at(m));
    };
    tuned::Gather<T> x;
    for (const std::size_t m : this->gathered(mode)) {
      x.factor[x.others] = this->factors_[m].data();
      x.index[x.others++] = index(m);
    }
    x.value = reinterpret_cast<const T*>(data + parts_.value_at());
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

  /// Tells what copies and kernels of a run take each by themselves.
  void time_alone() {
    device::Stream stream;
    const auto seconds = [&](auto&& work) {
      device::Event begin, end;
      work();  // once before, for what a first launch costs
      begin.record(stream.get());
      work();
      end.record(stream.get());
      end.synchronise();
      return end.seconds_since(begin);
    };
    const auto tell = [&](const char* what, double took) {
      this->executed_[what] = std::to_string(took);
    };
    tell("seconds of copies alone", seconds([&] {
           for (Count k = 0; k < parts_.count(); ++k) copy(k, stream.get());
         }));
    tell("seconds of kernels alone", seconds([&] {
           for (Count k = 0; k < parts_.count(); ++k) launch(k, this->modes_, stream.get());
         }));
  }

  const HostParts<T> parts_;
  std::array<Slot, 2> slots_;
  Count at_hand_ = 0;  // the part whose nonzeros `pass` takes
  const Owned<CUstream_st> copies_ = copy_stream();
  Mark begun_;
};

}  // namespace

std::unique_ptr<Prepared> prepare_streamed_cuda(const Problem& problem, const Params& params) {
  return make_typed_run<StreamedRun>(problem, params);
}

}  // namespace retensor::pasta
