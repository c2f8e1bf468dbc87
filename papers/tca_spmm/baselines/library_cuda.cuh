// What the baselines that call libraries of the CUDA toolkit share. Included by .cu files alone.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "common/device/library.cuh"
#include "papers/tca_spmm/format/operands.hpp"

namespace retensor::tca_spmm {

using device::CudaLibrary;

inline cudaDataType type_of(Element e) {
  return e == Element::half ? CUDA_R_16F : CUDA_R_32F;
}
inline std::int64_t signed_of(Count n) {
  return static_cast<std::int64_t>(n);
}

}  // namespace retensor::tca_spmm
