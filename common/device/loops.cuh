// Grids of one dimension: a thread's number, its group's, and loops in which the grid's threads or
// warps take the numbers below n in turn. Included by .cu files alone.
//
// All numbers have 64 bits: a grid of 2^31 - 1 blocks has more threads than 32 bits count.
#pragma once

#include <cuda_runtime.h>

#include "common/core/types.hpp"

namespace retensor::device {

__device__ inline Count thread_of_grid() {
  return static_cast<Count>(blockIdx.x) * blockDim.x + threadIdx.x;
}
/// Number of the group of kLanes neighbouring threads.
template <int kLanes>
__device__ Count group_of_grid() {
  return thread_of_grid() / kLanes;
}

/// Calls f(i) for each i below n, a thread of the grid every so many.
template <class F>
__device__ void for_each_of_grid(Count n, const F& f) {
  const Count step = Count{gridDim.x} * blockDim.x;
  for (Count i = thread_of_grid(); i < n; i += step) f(i);
}
/// The same for the warps of blocks of kThreads.
template <unsigned kThreads, class F>
__device__ void for_each_of_warps(Count n, const F& f) {
  constexpr unsigned kWarps = kThreads / 32;
  const Count step = Count{gridDim.x} * kWarps;
  for (Count i = Count{blockIdx.x} * kWarps + threadIdx.x / 32; i < n; i += step) f(i);
}

}  // namespace retensor::device
