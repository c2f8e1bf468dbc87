// What the CUDA sources of this module share: loops over a grid, copies, owners of places. Included
// by .cu files alone.
#pragma once

#include <cstddef>
#include <cstdint>

#include <cub/device/device_scan.cuh>

#include "common/device/cub.cuh"
#include "common/device/loops.cuh"

namespace retensor::bcb_sptc {

using device::Buffer;
using device::Cub;
using device::ensure_size;
using device::for_each_of_grid;

inline constexpr unsigned kThreads = 256;
inline constexpr Count kMostBlocks = 1 << 16;  // of loops over a grid

inline unsigned grid_for(Count threads) {
  return device::blocks_for(threads, kThreads, kMostBlocks);
}

/// The first of ascending keys that is not below `key`.
template <class Key, class KeyOf>
__host__ __device__ Count lower_bound(Count n, Key key, const KeyOf& key_of) {
  Count low = 0, high = n;
  while (low < high) {
    const Count middle = (low + high) / 2;
    if (key_of(middle) < key)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

/// The first n elements.
template <class T>
Buffer<T> copied(const T* from, Count n) {
  Buffer<T> to(n);
  if (n > 0)
    RETENSOR_CUDA_CHECK(
        cudaMemcpyAsync(to.data(), from, to.bytes(), cudaMemcpyDeviceToDevice, nullptr));
  return to;
}

/// The first n elements and `end` behind them.
inline Buffer<std::uint32_t> with_end(const Buffer<std::uint32_t>& first, Count n, Count end) {
  Buffer<std::uint32_t> starts(n + 1);
  if (n > 0)
    RETENSOR_CUDA_CHECK(cudaMemcpyAsync(starts.data(), first.data(), n * sizeof(std::uint32_t),
                                        cudaMemcpyDeviceToDevice, nullptr));
  set_element(starts, n, static_cast<std::uint32_t>(end));
  return starts;
}

namespace kernels {

/// to[i] = from[where[i]]
template <class T>
__global__ void gather(Count n, const std::uint32_t* where, const T* from, T* to) {
  for_each_of_grid(n, [&](Count i) { to[i] = from[where[i]]; });
}

/// Bits that are set in a word.
struct PopCount {
  const std::uint64_t* words;
  __host__ __device__ Count operator()(Count w) const {
#ifdef __CUDA_ARCH__
    return static_cast<Count>(__popcll(words[w]));
#else
    return static_cast<Count>(__builtin_popcountll(words[w]));
#endif
  }
};

struct Larger {
  __host__ __device__ std::uint32_t operator()(std::uint32_t a, std::uint32_t b) const {
    return a < b ? b : a;
  }
};

template <class Sum>
__global__ void mark_owners(Count n, const Sum* first, std::uint32_t* owner) {
  for_each_of_grid(n, [&](Count i) {
    if (first[i + 1] > first[i]) owner[first[i]] = static_cast<std::uint32_t>(i);
  });
}

}  // namespace kernels

/// owner[p] = the i with first[i] <= p < first[i + 1], for p below `total`: every owner marks its
/// first place, a scan carries the marks on. So no thread's work depends on how many places an
/// owner has.
template <class Sum>
void find_owners(Count n, const Buffer<Sum>& first, Count total, Buffer<std::uint32_t>& owner,
                 Cub& cub, cudaStream_t stream) {
  ensure_size(owner, total);
  if (total == 0) return;
  RETENSOR_CUDA_CHECK(cudaMemsetAsync(owner.data(), 0, total * sizeof(std::uint32_t), stream));
  RETENSOR_CUDA_LAUNCH(kernels::mark_owners<Sum>, grid_for(n), kThreads, 0, stream, n, first.data(),
                       owner.data());
  cub(total, [&](void* scratch, std::size_t& bytes) {
    return cub::DeviceScan::InclusiveScan(scratch, bytes, owner.data(), owner.data(),
                                          kernels::Larger{}, static_cast<std::int64_t>(total),
                                          stream);
  });
}

}  // namespace retensor::bcb_sptc
