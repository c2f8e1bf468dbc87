// What the CUDA sources of this module share: scratch of CUB, arrays that grow in the first run
// alone, loops over a grid. Included by .cu files alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <typeinfo>
#include <utility>

#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>

#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_reduce.cuh>
#include <cub/device/device_scan.cuh>
#include <cub/device/device_select.cuh>

#include "common/device/cuda.cuh"
#include "common/device/loops.cuh"
#include "common/device/warp.cuh"

namespace retensor::bcb_sptc {

using device::Buffer;
using device::for_each_of_grid;

inline constexpr unsigned kThreads = 256;
inline constexpr Count kMostBlocks = 1 << 16;  // of loops over a grid
/// Up to so many items one thread block makes a sum or a selection: 16 items a thread, one launch
/// in place of two and of the questions that CUB asks the driver.
inline constexpr Count kFewItems = 1 << 14;
inline constexpr unsigned kScanThreads = 1024;

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

/// Room for n elements; what was there is lost when it grows.
template <class T>
void reserve(Buffer<T>& buffer, Count n) {
  if (buffer.size() < n) buffer = Buffer<T>(n);
}

template <class T>
T element(const Buffer<T>& from, Count p) {
  T host;
  from.download(std::span(&host, 1), p);
  return host;
}

inline void set_element(Buffer<std::uint32_t>& to, Count p, Count x) {
  const auto value = static_cast<std::uint32_t>(x);
  RETENSOR_CUDA_CHECK(cudaMemcpy(to.data() + p, &value, sizeof(value), cudaMemcpyHostToDevice));
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
  set_element(starts, n, end);
  return starts;
}

namespace kernels {

struct Add {
  template <class Sum>
  __host__ __device__ Sum operator()(Sum a, Sum b) const {
    return a + b;
  }
};
/// Terms of a sum and a last one of zero.
template <class Sum, class Of>
struct Term {
  Of of;
  Count n;
  __host__ __device__ Sum operator()(Count i) const {
    return i < n ? static_cast<Sum>(of(i)) : Sum{0};
  }
};

/// Of a thread of kScanThreads: the sum of `own` over the threads before it; `all` is that over
/// all.
template <class Sum>
__device__ Sum sum_before(Sum own, Sum& all) {
  __shared__ Sum of_warp[kScanThreads / 32];
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const Sum within = device::sum_up_to_lane(own);
  if (lane == 31) of_warp[warp] = within;
  __syncthreads();
  if (warp == 0) {
    const Sum sums = device::sum_up_to_lane(of_warp[lane]);
    __syncwarp();
    of_warp[lane] = sums;
  }
  __syncthreads();
  all = of_warp[kScanThreads / 32 - 1];
  return within - own + (warp == 0 ? Sum{0} : of_warp[warp - 1]);
}

/// The items of this thread, neighbours.
struct Strip16 {
  __device__ explicit Strip16(Count n)
      : size((n + kScanThreads - 1) / kScanThreads),
        begin(threadIdx.x * size < n ? threadIdx.x * size : n),
        end(begin + size < n ? begin + size : n) {}
  Count size, begin, end;
};

template <class Sum, class Of>
__global__ void __launch_bounds__(kScanThreads) sum_few(Count n, Of of, Sum* out) {
  const Strip16 own(n);
  Sum sum = 0, all = 0;
  for (Count i = own.begin; i < own.end; ++i) sum += static_cast<Sum>(of(i));
  Sum before = sum_before(sum, all);
  for (Count i = own.begin; i < own.end; ++i) {
    out[i] = before;
    before += static_cast<Sum>(of(i));
  }
  if (threadIdx.x == 0) out[n] = all;
}

template <class Is>
__global__ void __launch_bounds__(kScanThreads)
    select_few(Count n, Is is, std::uint32_t* out, Count* found) {
  const Strip16 own(n);
  unsigned taken = 0;  // a bit an item
  for (Count i = own.begin; i < own.end; ++i)
    taken |= (is(static_cast<std::uint32_t>(i)) ? 1u : 0u) << (i - own.begin);
  Count all = 0, to = sum_before(static_cast<Count>(__popc(taken)), all);
  for (Count i = own.begin; i < own.end; ++i)
    if ((taken >> (i - own.begin) & 1) != 0) out[to++] = static_cast<std::uint32_t>(i);
  if (threadIdx.x == 0) *found = all;
}

}  // namespace kernels

/// Calls of CUB with scratch that is kept: a call that was made before with as many items allocates
/// nothing.
class Cub {
 public:
  /// Runs call(scratch, bytes), whose work follows from `items` alone. Where it was not made before
  /// with as many, it is run without scratch first, as CUB wants it, to learn the bytes.
  template <class Call>
  void operator()(Count items, const Call& call) {
    std::size_t& bytes = bytes_[{typeid(Call).hash_code(), items}];
    if (bytes == 0) {
      RETENSOR_CUDA_CHECK(call(nullptr, bytes));
      reserve(scratch_, bytes);
    }
    RETENSOR_CUDA_CHECK(call(scratch_.data(), bytes));
  }

  /// out[i] = of(0) + ... + of(i - 1) for i up to n, the sum of all included: n + 1 elements.
  template <class Sum, class Of>
  void sums(Count n, const Of& of, Buffer<Sum>& out, cudaStream_t stream) {
    reserve(out, n + 1);
    if (n <= kFewItems) {
      RETENSOR_CUDA_LAUNCH((kernels::sum_few<Sum, Of>), 1, kScanThreads, 0, stream, n, of,
                           out.data());
      return;
    }
    const auto terms = thrust::make_transform_iterator(thrust::counting_iterator<Count>(0),
                                                       kernels::Term<Sum, Of>{of, n});
    (*this)(n, [&](void* scratch, std::size_t& bytes) {
      return cub::DeviceScan::ExclusiveScan(scratch, bytes, terms, out.data(), kernels::Add{},
                                            Sum{0}, n + 1, stream);
    });
  }

  /// The numbers below n of which is(i) holds, ascending; how many lies in `found`, on the device.
  template <class Is>
  void select(Count n, const Is& is, Buffer<std::uint32_t>& out, Buffer<Count>& found,
              cudaStream_t stream) {
    reserve(found, 1);
    if (n <= kFewItems) {
      RETENSOR_CUDA_LAUNCH(kernels::select_few<Is>, 1, kScanThreads, 0, stream, n, is, out.data(),
                           found.data());
      return;
    }
    (*this)(n, [&](void* scratch, std::size_t& bytes) {
      return cub::DeviceSelect::If(scratch, bytes, thrust::counting_iterator<std::uint32_t>(0),
                                   out.data(), found.data(), static_cast<std::int64_t>(n), is,
                                   stream);
    });
  }

  /// op over of(0) to of(n - 1), from `initial` on. Waits for the device; allocates.
  template <class T, class Of, class Op>
  T reduce(Count n, const Of& of, const Op& op, T initial) {
    const auto items = thrust::make_transform_iterator(thrust::counting_iterator<Count>(0), of);
    Buffer<T> out(1);
    (*this)(n, [&](void* scratch, std::size_t& bytes) {
      return cub::DeviceReduce::Reduce(scratch, bytes, items, out.data(),
                                       static_cast<std::int64_t>(n), op, initial);
    });
    return element(out, 0);
  }

  /// Sorts pairs stably by the lowest `bits` bits of the keys; the result stands in `keys` and
  /// `values`, `spare_keys` and `spare_values` have the same lengths.
  template <class Key, class Value>
  void sort(Count n, int bits, Buffer<Key>& keys, Buffer<Value>& values, Buffer<Key>& spare_keys,
            Buffer<Value>& spare_values, cudaStream_t stream) {
    // Of both pairs of arrays, so that CUB needs no third.
    cub::DoubleBuffer<Key> key_buffers(keys.data(), spare_keys.data());
    cub::DoubleBuffer<Value> value_buffers(values.data(), spare_values.data());
    (*this)(n << 8 | static_cast<Count>(bits), [&](void* scratch, std::size_t& bytes) {
      return cub::DeviceRadixSort::SortPairs(scratch, bytes, key_buffers, value_buffers,
                                             static_cast<std::int64_t>(n), 0, bits < 1 ? 1 : bits,
                                             stream);
    });
    if (key_buffers.Current() == keys.data()) return;
    std::swap(keys, spare_keys);
    std::swap(values, spare_values);
  }

  Count bytes() const { return scratch_.bytes(); }

 private:
  Buffer<unsigned char> scratch_;
  std::map<std::pair<std::size_t, Count>, std::size_t> bytes_;  // of calls that were made
};

namespace kernels {

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
  reserve(owner, total);
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
