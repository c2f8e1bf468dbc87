// Two kernels of a stream that run beside each other where the chip allows it, from sm_90 on: the
// second one begins when all blocks of the first have called `let_next_begin` and room is left.
// Included by .cu files alone.
#pragma once

#include <cstddef>
#include <utility>

#include "common/device/cuda.cuh"

namespace retensor::device {

/// The stream's next kernel may begin, if it is launched by `launch_beside`.
__device__ inline void let_next_begin() {
#if __CUDA_ARCH__ >= 900
  cudaTriggerProgrammaticLaunchCompletion();
#endif
}
/// Waits for the end of the stream's kernel before and sees what it wrote. A kernel that is
/// launched by `launch_beside` calls it, at its end at the latest: what comes after waits for that
/// kernel alone.
__device__ inline void wait_for_kernel_before() {
#if __CUDA_ARCH__ >= 900
  cudaGridDependencySynchronize();
#endif
}

template <class... Params, class... Args>
void launch_beside(void (*kernel)(Params...), dim3 grid, unsigned threads, std::size_t shared,
                   cudaStream_t stream, Args&&... args) {
  int device = 0, major = 0;
  RETENSOR_CUDA_CHECK(cudaGetDevice(&device));
  RETENSOR_CUDA_CHECK(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device));
  constexpr int kFirstMajor = 9;
  cudaLaunchAttribute beside{};
  beside.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  beside.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = grid;
  config.blockDim = dim3(threads);
  config.dynamicSmemBytes = shared;
  config.stream = stream;
  config.attrs = &beside, config.numAttrs = major >= kFirstMajor ? 1 : 0;
  RETENSOR_CUDA_CHECK(cudaLaunchKernelEx(&config, kernel, std::forward<Args>(args)...));
}

}  // namespace retensor::device
