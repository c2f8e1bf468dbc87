// Single calls of the CUDA runtime: status codes as the project's exceptions, copies and memory,
// whether the process can go on with its device, the range that a profiler sees.
#include <cuda_profiler_api.h>

#include "common/device/copy.hpp"
#include "common/device/cuda.cuh"
#include "common/device/device.hpp"

namespace retensor::device {

void raise(cudaError_t status, const char* call, const char* file, int line) {
  cudaGetLastError();  // a refused allocation or launch must not fail the next checked launch
  const std::string message = std::string(file) + ":" + std::to_string(line) + ": " + call + ": " +
                              cudaGetErrorName(status) + ": " + cudaGetErrorString(status);
  if (status == cudaErrorMemoryAllocation) throw OutOfMemory(message);
  throw DeviceError(message);
}

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

std::string fault() {
  if (cudaDeviceSynchronize() == cudaSuccess) return "";
  cudaGetLastError();  // an error that is not sticky ends here
  const auto status = cudaDeviceSynchronize();
  if (status == cudaSuccess) return "";
  return std::string(cudaGetErrorName(status)) + ": " + cudaGetErrorString(status);
}

ProfiledRange::ProfiledRange() {
  RETENSOR_CUDA_CHECK(cudaProfilerStart());
}

ProfiledRange::~ProfiledRange() {
  cudaProfilerStop();
}

}  // namespace retensor::device
