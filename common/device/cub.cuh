// Calls of CUB with scratch that is kept, and what callers of its sorts and selections share.
// Included by .cu files alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <typeindex>
#include <utility>

#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>

#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_reduce.cuh>
#include <cub/device/device_scan.cuh>
#include <cub/device/device_select.cuh>

#include "common/device/cuda.cuh"
#include "common/device/warp.cuh"

namespace retensor::device {

/// Up to so many items one thread block makes a sum or a selection: 16 items a thread, one launch
/// in place of two and of the questions that CUB asks the driver.
inline constexpr Count kFewItems = 1 << 14;
inline constexpr unsigned kScanThreads = 1024;

/// Whether a position's key differs from the one before in the bits from `shift` on.
template <class Key>
struct Begins {
  const Key* keys;
  int shift;
  __host__ __device__ bool operator()(std::uint32_t p) const {
    return p == 0 || keys[p] >> shift != keys[p - 1] >> shift;
  }
};

/// Room for n elements; what was there is lost when it grows.
template <class T>
void ensure_size(Buffer<T>& buffer, Count n) {
  if (buffer.size() < n) buffer = Buffer<T>(n);
}

/// Waits for the device.
template <class T>
T element_at(const Buffer<T>& from, Count p) {
  T host;
  from.download(std::span(&host, 1), p);
  return host;
}

template <class T>
void set_element(Buffer<T>& to, Count p, T x) {
  RETENSOR_CUDA_CHECK(cudaMemcpy(to.data() + p, &x, sizeof(T), cudaMemcpyHostToDevice));
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
    std::size_t& bytes = bytes_[{typeid(Call), items}];
    if (bytes == 0) {
      RETENSOR_CUDA_CHECK(call(nullptr, bytes));
      ensure_size(scratch_, bytes);
    }
    RETENSOR_CUDA_CHECK(call(scratch_.data(), bytes));
  }

  /// out[i] = of(0) + ... + of(i - 1) for i up to n, the sum of all included: n + 1 elements.
  template <class Sum, class Of>
  void sums(Count n, const Of& of, Buffer<Sum>& out, cudaStream_t stream) {
    ensure_size(out, n + 1);
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
    ensure_size(found, 1);
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
    return element_at(out, 0);
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
  std::map<std::pair<std::type_index, Count>, std::size_t> bytes_;  // of calls that were made
};

}  // namespace retensor::device
