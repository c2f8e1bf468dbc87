// What the 32 lanes of a warp tell each other: sums over lower lanes and over all, a value of one
// lane for its group. Included by .cu files alone.
//
// Lane l is thread l % 32 of a block of one dimension. Every function is a few shuffles (SHFL, all
// architectures that CUDA still knows) that name the whole warp, so all its lanes come to one
// place; a group is 2^k neighbouring lanes, the first a multiple of 2^k.
#pragma once

#include <cuda_runtime.h>

namespace retensor::device {

inline constexpr unsigned kWarpSize = 32;
inline constexpr unsigned kWholeWarp = ~0u;  ///< the mask of all lanes

/// The sum of the lower lanes' and the own value: 5 shuffles and additions.
template <class T>
__device__ T sum_up_to_lane(T own, unsigned lane = threadIdx.x % kWarpSize) {
  T sum = own;
  for (unsigned distance = 1; distance < kWarpSize; distance *= 2) {
    const T below = __shfl_up_sync(kWholeWarp, sum, distance);
    if (lane >= distance) sum += below;
  }
  return sum;
}
/// The sum of the lower lanes' values.
template <class T>
__device__ T sum_below_lane(T own) {
  return sum_up_to_lane(own) - own;
}

/// All lanes' values joined by `op`, the same in every lane.
template <class T, class Op>
__device__ T joined_by_warp(T value, const Op& op) {
  for (int distance = kWarpSize / 2; distance > 0; distance /= 2)
    value = op(value, __shfl_xor_sync(kWholeWarp, value, distance));
  return value;
}

/// The value of lane `source` of the own group of kLanes. `lanes` of the warp take part: masks that
/// differ between groups would part the warp.
template <int kLanes, class T>
__device__ T of_lane(T value, int source, unsigned lanes = kWholeWarp) {
  return __shfl_sync(lanes, value, source, kLanes);
}

}  // namespace retensor::device
