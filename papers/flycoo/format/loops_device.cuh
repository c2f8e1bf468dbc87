// Loops over positions and sums over them on the device, of which the formats are made there; all
// on the default stream. Included by .cu files alone.
#pragma once

#include "common/device/cuda.cuh"
#include "common/device/loops.cuh"

namespace retensor::flycoo {

inline constexpr unsigned kLoopThreads = 256;

template <class F>
__global__ void loop(Count n, F f) {
  device::for_each_of_grid(n, f);
}

template <class F>
__global__ void add_up(Count n, F f, unsigned long long* sum) {
  unsigned long long mine = 0;
  device::for_each_of_grid(n, [&](Count i) { mine += f(i); });
  atomicAdd(sum, mine);
}

/// Calls f(i) for every i below n, in any order.
template <class F>
void for_each(Count n, F f) {
  constexpr Count kMostBlocks = 1 << 16;
  if (n == 0) return;
  RETENSOR_CUDA_LAUNCH(loop<F>, device::blocks_for(n, kLoopThreads, kMostBlocks), kLoopThreads, 0,
                       nullptr, n, f);
}

/// Adds f(i) for every i below n to *sum, which lies on the device.
template <class F>
void add_each(Count n, F f, unsigned long long* sum) {
  constexpr Count kMostBlocks = 1024;  // each thread adds to the sum once
  if (n == 0) return;
  RETENSOR_CUDA_LAUNCH(add_up<F>, device::blocks_for(n, kLoopThreads, kMostBlocks), kLoopThreads, 0,
                       nullptr, n, f, sum);
}

}  // namespace retensor::flycoo
