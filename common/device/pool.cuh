// Device memory of CUDA's pool, for conversions that take as long as allocating would: what is
// given back stays with the process, up to kKeptBytes, and costs a microsecond to get again.
// Included by .cu files alone.
#pragma once

#include <utility>

#include "common/device/cuda.cuh"

namespace retensor::device {

/// What the pool keeps at most when nothing of it is in use.
inline constexpr Count kKeptBytes = 256 << 20;

/// `count` uninitialised elements, ordered on the default stream; throws OutOfMemory. An empty
/// buffer owns nothing.
template <class T>
class PoolBuffer {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  PoolBuffer() = default;
  explicit PoolBuffer(Count count) : count_(count) {
    if (count == 0) return;
    int device = 0;
    cudaMemPool_t pool = nullptr;
    Count kept = kKeptBytes;
    RETENSOR_CUDA_CHECK(cudaGetDevice(&device));
    RETENSOR_CUDA_CHECK(cudaDeviceGetDefaultMemPool(&pool, device));
    RETENSOR_CUDA_CHECK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &kept));
    RETENSOR_CUDA_CHECK(cudaMallocAsync(&data_, bytes(), nullptr));
  }
  ~PoolBuffer() {
    if (data_ != nullptr) cudaFreeAsync(data_, nullptr);
  }
  PoolBuffer(PoolBuffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), count_(std::exchange(other.count_, 0)) {}
  PoolBuffer& operator=(PoolBuffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(count_, other.count_);
    return *this;
  }

  T* data() { return data_; }
  const T* data() const { return data_; }
  Count size() const { return count_; }
  Count bytes() const { return count_ * sizeof(T); }

 private:
  T* data_ = nullptr;
  Count count_ = 0;
};

}  // namespace retensor::device
