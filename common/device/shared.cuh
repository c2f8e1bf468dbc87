// Shared memory of kernels. Included by .cu files alone.
#pragma once

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

}  // namespace retensor::device
