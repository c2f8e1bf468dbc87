// Work that runs beside other work: a stream of its own, and marks that order the two. Included by
// .cu files alone.
#pragma once

#include <memory>

#include "common/device/cuda.cuh"

namespace retensor::device {

struct ReleaseOfOrder {
  void operator()(cudaStream_t stream) const { cudaStreamDestroy(stream); }
  void operator()(cudaEvent_t event) const { cudaEventDestroy(event); }
};

/// A stream that waits for nothing but what it is told to.
class SideStream {
 public:
  SideStream() {
    cudaStream_t stream = nullptr;
    RETENSOR_CUDA_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    stream_.reset(stream);
  }
  cudaStream_t get() const { return stream_.get(); }

 private:
  std::unique_ptr<CUstream_st, ReleaseOfOrder> stream_;
};

/// Orders work of one stream, or of the host, behind that of another.
class Milestone {
 public:
  Milestone() {
    cudaEvent_t event = nullptr;
    RETENSOR_CUDA_CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    event_.reset(event);
  }
  void reached(cudaStream_t by) { RETENSOR_CUDA_CHECK(cudaEventRecord(event_.get(), by)); }
  void awaited(cudaStream_t by) { RETENSOR_CUDA_CHECK(cudaStreamWaitEvent(by, event_.get())); }
  /// By the host; at once where nothing was marked.
  void awaited() { RETENSOR_CUDA_CHECK(cudaEventSynchronize(event_.get())); }

 private:
  std::unique_ptr<CUevent_st, ReleaseOfOrder> event_;
};

}  // namespace retensor::device
