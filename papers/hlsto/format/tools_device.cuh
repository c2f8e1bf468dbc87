// Calls of CUB with the scratch that they ask for, and sums over a warp. Included by .cu files
// alone.
#pragma once

#include <cstddef>

#include "common/device/cuda.cuh"

namespace retensor::hlsto {

/// Runs call(scratch, bytes) twice, as CUB wants it: without scratch to learn the bytes, then with.
template <class Call>
void with_scratch(Call&& call) {
  std::size_t bytes = 0;
  RETENSOR_CUDA_CHECK(call(nullptr, bytes));
  device::Buffer<unsigned char> scratch(bytes);
  RETENSOR_CUDA_CHECK(call(scratch.data(), bytes));
}

/// The sum of the lower lanes' n.
__device__ inline unsigned sum_before(unsigned n) {
  unsigned upto = n;
  for (unsigned step = 1; step < 32; step *= 2) {
    const unsigned other = __shfl_up_sync(~0u, upto, step);
    if (threadIdx.x % 32 >= step) upto += other;
  }
  return upto - n;
}

}  // namespace retensor::hlsto
