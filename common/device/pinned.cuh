// Memory of the host that the device copies from and to beside kernels. Included by .cu files
// alone.
#pragma once

#include <span>
#include <utility>

#include "common/device/cuda.cuh"

namespace retensor::device {

/// `count` uninitialised elements; throws OutOfMemory.
template <class T>
class Pinned {
 public:
  explicit Pinned(Count count) : count_(count) {
    if (count > 0)
      RETENSOR_CUDA_CHECK(cudaHostAlloc(&data_, count * sizeof(T), cudaHostAllocDefault));
  }
  ~Pinned() { cudaFreeHost(data_); }
  Pinned(Pinned&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), count_(std::exchange(other.count_, 0)) {}
  Pinned& operator=(Pinned&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(count_, other.count_);
    return *this;
  }

  T* data() { return data_; }
  const T* data() const { return data_; }
  Count bytes() const { return count_ * sizeof(T); }
  std::span<T> all() { return {data_, count_}; }
  std::span<const T> all() const { return {data_, count_}; }

 private:
  T* data_ = nullptr;
  Count count_ = 0;
};

}  // namespace retensor::device
