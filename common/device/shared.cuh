// Shared memory of kernels. Included by .cu files alone.
#pragma once

#include <map>
#include <mutex>

#include "common/device/cuda.cuh"

namespace retensor::device {

/// Lets a kernel have as much dynamic shared memory as a thread block can have, so that launches
/// with more and with less can take turns.
template <class Kernel>
void allow_all_shared(Kernel* kernel) {
  cudaFuncAttributes of_kernel{};
  RETENSOR_CUDA_CHECK(cudaFuncGetAttributes(&of_kernel, kernel));
  int device = 0, most = 0;
  RETENSOR_CUDA_CHECK(cudaGetDevice(&device));
  RETENSOR_CUDA_CHECK(
      cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
  RETENSOR_CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                           most - static_cast<int>(of_kernel.sharedSizeBytes)));
}

/// Lets a kernel have so many bytes of dynamic shared memory in a thread block, or what an earlier
/// call asked for if that is more, so that launches with more and with less can take turns. A
/// kernel has no more than was asked for.
template <class Kernel>
void allow_shared(Kernel* kernel, std::size_t bytes) {
  static std::mutex guard;
  static std::map<Kernel*, std::size_t> most;
  const std::scoped_lock lock(guard);
  if (auto& of_kernel = most[kernel]; of_kernel < bytes) {
    RETENSOR_CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                             static_cast<int>(bytes)));
    of_kernel = bytes;
  }
}

}  // namespace retensor::device
