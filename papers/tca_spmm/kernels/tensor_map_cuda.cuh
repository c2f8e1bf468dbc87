// Maps for the copy engine of Hopper. Included by .cu files alone.
#pragma once

#include <cuda.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "common/core/types.hpp"
#include "common/device/cuda.cuh"

namespace retensor::tca_spmm {

/// Boxes of `box_rows` x 64 halves of a row-major matrix of halves on the device, in the 128-byte
/// swizzle; elements outside the matrix are zeros. `stride`, the elements between rows, is a
/// multiple of 8. Throws DeviceError where the driver knows no such maps.
inline CUtensorMap map_of_halves(const void* matrix, Count rows, Count cols, Count stride,
                                 unsigned box_rows) {
  // The driver's function by the runtime: a program that links the driver itself starts nowhere
  // else.
  constexpr unsigned kSinceCuda = 12000;
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
  RETENSOR_CUDA_CHECK(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function,
                                                       kSinceCuda, cudaEnableDefault, &found));
  if (found != cudaDriverEntryPointSuccess)
    throw DeviceError("the driver has no cuTensorMapEncodeTiled");
  const auto encode = reinterpret_cast<decltype(&cuTensorMapEncodeTiled)>(function);
  const cuuint64_t sizes[] = {cols, rows}, strides[] = {stride * sizeof(std::uint16_t)};
  const cuuint32_t box[] = {64, box_rows}, every[] = {1, 1};
  CUtensorMap map;
  const CUresult status =
      encode(&map, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2, const_cast<void*>(matrix), sizes, strides,
             box, every, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
             CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (status != CUDA_SUCCESS)
    throw DeviceError("cuTensorMapEncodeTiled: error " + std::to_string(status));
  return map;
}

}  // namespace retensor::tca_spmm
