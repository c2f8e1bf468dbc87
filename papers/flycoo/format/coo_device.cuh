// What kernels read of a tensor in coordinate form, and loops over positions, all on the default
// stream, that make formats of it. Included by .cu files alone.
#pragma once

#include <cstdint>
#include <string>

#include "common/device/cuda.cuh"
#include "common/device/device.hpp"
#include "common/device/loops.cuh"
#include "common/run/coo_device.cuh"
#include "papers/flycoo/format/record.hpp"

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

/// What kernels read of a tensor in coordinate form.
struct CooView {
  explicit CooView(const DeviceCoo& x)
      : values(reinterpret_cast<const std::uint32_t*>(x.bytes.data())) {
    for (std::size_t m = 0; m < x.indices.size(); ++m) index[m] = x.indices[m].data();
  }
  /// Writes the indices and the value of nonzero i to a record of zeros.
  __device__ void encode(const RecordLayout& layout, Count i, std::uint32_t* record) const {
    for (int m = 0; m < layout.order; ++m) set_record_index(layout, record, m, index[m][i]);
    for (int w = 0; w < layout.value_words; ++w)
      record[layout.value_word + w] = values[i * static_cast<Count>(layout.value_words) + w];
  }

  const Index* index[kMaxOrder] = {};
  const std::uint32_t* values;  ///< in words: 1 each in single precision, 2 in double
};

/// Throws OutOfMemory unless the device has `needed` bytes free to make a format of `nnz` nonzeros.
inline void require_memory(Count nnz, Count needed) {
  const Count free = device::memory().free_bytes;
  if (needed > free)
    throw OutOfMemory("preparing " + std::to_string(nnz) + " nonzeros on the device takes " +
                      std::to_string(needed) + " bytes of its memory, found " +
                      std::to_string(free) + " free; prepare=host takes those of the format alone");
}

}  // namespace retensor::flycoo
