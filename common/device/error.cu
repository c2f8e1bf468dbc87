// CUDA's status codes as the project's exceptions.
#include "common/device/cuda.cuh"

namespace retensor::device {

void raise(cudaError_t status, const char* call, const char* file, int line) {
  cudaGetLastError();  // a refused allocation or launch must not fail the next checked launch
  const std::string message = std::string(file) + ":" + std::to_string(line) + ": " + call + ": " +
                              cudaGetErrorName(status) + ": " + cudaGetErrorString(status);
  if (status == cudaErrorMemoryAllocation) throw OutOfMemory(message);
  throw DeviceError(message);
}

}  // namespace retensor::device
