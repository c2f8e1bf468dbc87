// Stages as CUDA graphs: a stage of many short kernels takes less time when its launches are
// recorded once and started as one. Included by .cu files alone.
#pragma once

#include <utility>

#include "common/device/cuda.cuh"

namespace retensor::bcb_sptc {

/// What a stage launches, with the addresses and sizes that it had when it was recorded.
class Replay {
 public:
  Replay() = default;
  ~Replay() {
    if (graph_ != nullptr) cudaGraphExecDestroy(graph_);
  }
  Replay(const Replay&) = delete;
  Replay& operator=(const Replay&) = delete;

  /// Records stage(stream), which must allocate nothing and wait for nothing; runs nothing.
  template <class Stage>
  void record(const Stage& stage) {
    const device::Stream stream;
    cudaGraph_t recorded = nullptr;
    RETENSOR_CUDA_CHECK(cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeThreadLocal));
    stage(stream.get());
    RETENSOR_CUDA_CHECK(cudaStreamEndCapture(stream.get(), &recorded));
    const cudaError_t made = cudaGraphInstantiate(&graph_, recorded, 0);
    cudaGraphDestroy(recorded);
    RETENSOR_CUDA_CHECK(made);
  }
  void run(cudaStream_t stream) const { RETENSOR_CUDA_CHECK(cudaGraphLaunch(graph_, stream)); }

 private:
  cudaGraphExec_t graph_ = nullptr;
};

}  // namespace retensor::bcb_sptc
