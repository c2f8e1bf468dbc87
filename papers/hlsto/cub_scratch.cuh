// Calls of CUB with the scratch that they ask for. Included by .cu files alone.
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

}  // namespace retensor::hlsto
