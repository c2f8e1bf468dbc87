// Copies and memory of the device as single calls.
#include "common/device/copy.hpp"
#include "common/device/cuda.cuh"

namespace retensor::device {

void copy_to_host(void* host, const void* device, std::size_t bytes) {
  RETENSOR_CUDA_CHECK(cudaMemcpy(host, device, bytes, cudaMemcpyDeviceToHost));
}

void copy_to_device(void* device, const void* host, std::size_t bytes) {
  RETENSOR_CUDA_CHECK(cudaMemcpy(device, host, bytes, cudaMemcpyHostToDevice));
}

void* allocate_bytes(std::size_t bytes) {
  void* memory = nullptr;
  RETENSOR_CUDA_CHECK(cudaMalloc(&memory, bytes));
  return memory;
}

void release_bytes(void* device) {
  cudaFree(device);
}

}  // namespace retensor::device
