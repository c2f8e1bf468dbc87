// PASTA section III.D.2 on CUDA, as the section describes the kernel: MTTKRP in HiCOO with a thread
// block per tensor block. TEW, TS, TTV and TTM in HiCOO are the kernels on coordinates.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "common/core/types.hpp"

namespace retensor::pasta {

/// A tensor in HiCOO. Rows of factors and output are `stride` elements apart.
template <class T>
struct DeviceHicoo {
  const Count* start = nullptr;       ///< blocks + 1
  const Index* block_row = nullptr;   ///< block index of the output mode
  const std::uint8_t* row = nullptr;  ///< element index of the output mode
  const Index* block_other[kMaxOther] = {};
  const std::uint8_t* other[kMaxOther] = {};
  const T* factor[kMaxOther] = {};
  const T* value = nullptr;
  T* out = nullptr;
  Count blocks = 0;
  unsigned rank = 0, stride = 0;
  int block_bits = 0, others = 0;
};

namespace paper {

/// Algorithm 3 as section III.D.2 puts it on GPUs: a thread block per tensor block, one atomicAdd
/// per element. Block indices are read once per nonzero from cache instead of blocking the
/// matrices, which the listing does to shorten addresses.
template <class T>
__global__ void hicoo_mttkrp(DeviceHicoo<T> x) {
  for (Count b = blockIdx.x; b < x.blocks; b += gridDim.x)
    for (Count p = x.start[b] + threadIdx.y; p < x.start[b + 1]; p += blockDim.y)
      for (unsigned r = threadIdx.x; r < x.rank; r += blockDim.x) {
        T product = x.value[p];
        for (int k = 0; k < x.others; ++k) {
          const Count i = (static_cast<Count>(x.block_other[k][b]) << x.block_bits) + x.other[k][p];
          product *= x.factor[k][i * x.stride + r];
        }
        const Count i = (static_cast<Count>(x.block_row[b]) << x.block_bits) + x.row[p];
        atomicAdd(&x.out[i * x.stride + r], product);
      }
}

}  // namespace paper
}  // namespace retensor::pasta
