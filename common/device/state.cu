// Whether the process can go on with its device, and the range that a profiler sees.
#include <cuda_profiler_api.h>

#include "common/device/cuda.cuh"
#include "common/device/device.hpp"

namespace retensor::device {

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
