// What adapters of CUDA libraries share: arrays in device memory, and CSR of a problem's matrix.
#pragma once

#include <cuda_runtime_api.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "adapter.hpp"

namespace adapter {

inline void expect_cuda(cudaError_t error, const char* call) {
  if (error == cudaErrorMemoryAllocation) throw std::bad_alloc();
  if (error != cudaSuccess)
    throw std::runtime_error(std::string(call) + ": " + cudaGetErrorString(error));
}

/// Room for `size` elements, freed at the end.
template <class T>
class DeviceArray {
 public:
  DeviceArray() = default;
  explicit DeviceArray(std::uint64_t size) : size_(size) {
    expect_cuda(cudaMalloc(reinterpret_cast<void**>(&data_), (size + 1) * sizeof(T)), "cudaMalloc");
  }
  explicit DeviceArray(const std::vector<T>& host) : DeviceArray(host.size()) {
    expect_cuda(cudaMemcpy(data_, host.data(), bytes(), cudaMemcpyHostToDevice), "cudaMemcpy");
  }
  ~DeviceArray() { cudaFree(data_); }
  DeviceArray(DeviceArray&& other) noexcept { *this = std::move(other); }
  DeviceArray& operator=(DeviceArray&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }

  T* data() const { return data_; }
  std::uint64_t bytes() const { return size_ * sizeof(T); }
  void copy_to(void* host) const {
    expect_cuda(cudaMemcpy(host, data_, bytes(), cudaMemcpyDeviceToHost), "cudaMemcpy");
  }

 private:
  T* data_ = nullptr;
  std::uint64_t size_ = 0;
};

struct Csr {
  std::vector<int> starts, columns;
  std::vector<float> values;
};

/// Of a matrix of f32 values, the nonzeros of a row in the order of their columns.
inline Csr csr_of(const retensor_method_problem& p) {
  std::vector<std::uint64_t> order(p.nnz);
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](auto a, auto b) {
    return std::pair(p.indices[0][a], p.indices[1][a]) <
           std::pair(p.indices[0][b], p.indices[1][b]);
  });
  Csr csr{std::vector<int>(p.dims[0] + 1), {}, {}};
  for (const auto x : order) {
    ++csr.starts[p.indices[0][x] + 1];
    csr.columns.push_back(static_cast<int>(p.indices[1][x]));
    csr.values.push_back(static_cast<const float*>(p.values)[x]);
  }
  std::partial_sum(csr.starts.begin(), csr.starts.end(), csr.starts.begin());
  return csr;
}

}  // namespace adapter
