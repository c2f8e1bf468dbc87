// Memory of the host that the device copies from and to beside kernels. Included by .cu files
// alone.
#pragma once

#include <memory>
#include <span>

#include "common/device/cuda.cuh"

namespace retensor::device {

/// `count` uninitialised elements; throws OutOfMemory.
template <class T>
class Pinned {
 public:
  explicit Pinned(Count count) : count_(count) {
    void* data = nullptr;
    if (count > 0) RETENSOR_CUDA_CHECK(cudaHostAlloc(&data, bytes(), cudaHostAllocDefault));
    data_.reset(static_cast<T*>(data));
  }

  T* data() const { return data_.get(); }
  Count bytes() const { return count_ * sizeof(T); }
  std::span<T> all() const { return {data(), count_}; }

 private:
  struct Release {
    void operator()(T* data) const { cudaFreeHost(data); }
  };
  std::unique_ptr<T[], Release> data_;
  Count count_;
};

}  // namespace retensor::device
