// CUDA as the GPU code of the project uses it: checked calls and launches, owning handles. Included
// by .cu files alone.
#pragma once

#include <limits>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <cuda_runtime.h>

#include "common/core/error.hpp"
#include "common/core/types.hpp"

namespace retensor::device {

/// Throws OutOfMemory for a failed allocation and DeviceError for everything else; the message
/// names the call, file, line and CUDA's own words. Clears an error that is not sticky.
[[noreturn]] void raise(cudaError_t status, const char* call, const char* file, int line);

inline void check(cudaError_t status, const char* call, const char* file, int line) {
  if (status != cudaSuccess) raise(status, call, file, line);
}

/// Throws unless the CUDA call succeeds.
#define RETENSOR_CUDA_CHECK(call) ::retensor::device::check((call), #call, __FILE__, __LINE__)

/// Launches `kernel` (in parentheses when its template list has a comma) and throws when the launch
/// is refused. Faults inside the kernel surface at the next synchronising call.
#define RETENSOR_CUDA_LAUNCH(kernel, grid, block, shared, stream, ...)                       \
  do {                                                                                       \
    kernel<<<(grid), (block), (shared), (stream)>>>(__VA_ARGS__);                            \
    ::retensor::device::check(cudaGetLastError(), "launch of " #kernel, __FILE__, __LINE__); \
  } while (false)

/// `count` uninitialised elements of device memory; throws OutOfMemory. An empty buffer owns
/// nothing.
template <class T>
class Buffer {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  Buffer() = default;
  explicit Buffer(Count count) : count_(count) {
    if (count == 0) return;
    if (count > std::numeric_limits<std::size_t>::max() / sizeof(T))
      throw OutOfMemory("a device buffer of more than 2^64-1 bytes");
    RETENSOR_CUDA_CHECK(cudaMalloc(&data_, count * sizeof(T)));
  }
  /// A copy of host elements; returns when they have been copied.
  explicit Buffer(std::span<const T> host) : Buffer(host.size()) { upload(host); }
  explicit Buffer(const std::vector<T>& host) : Buffer(std::span<const T>(host)) {}
  ~Buffer() { cudaFree(data_); }
  Buffer(Buffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), count_(std::exchange(other.count_, 0)) {}
  Buffer& operator=(Buffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(count_, other.count_);
    return *this;
  }

  T* data() { return data_; }
  const T* data() const { return data_; }
  Count size() const { return count_; }
  Count bytes() const { return count_ * sizeof(T); }

  /// Copies the first host.size() elements; throws LogicError when they do not fit.
  void upload(std::span<const T> host) {
    if (host.size() > count_) throw LogicError("upload of more elements than the buffer holds");
    if (host.empty()) return;
    RETENSOR_CUDA_CHECK(cudaMemcpy(data_, host.data(), host.size_bytes(), cudaMemcpyHostToDevice));
  }
  /// Copies host.size() elements back, from `first` on; throws LogicError when there are fewer.
  void download(std::span<T> host, Count first = 0) const {
    if (first > count_ || host.size() > count_ - first)
      throw LogicError("download of more elements than the buffer holds");
    if (host.empty()) return;
    RETENSOR_CUDA_CHECK(
        cudaMemcpy(host.data(), data_ + first, host.size_bytes(), cudaMemcpyDeviceToHost));
  }
  std::vector<T> to_host() const {
    std::vector<T> host(count_);
    download(host);
    return host;
  }
  /// Sets every byte to zero, ordered on `stream`.
  void zero(cudaStream_t stream) {
    if (count_ > 0) RETENSOR_CUDA_CHECK(cudaMemsetAsync(data_, 0, bytes(), stream));
  }

 private:
  T* data_ = nullptr;
  Count count_ = 0;
};

/// A stream that orders itself with the default stream, so that work launched there by mistake is
/// still timed.
class Stream {
 public:
  Stream() { RETENSOR_CUDA_CHECK(cudaStreamCreate(&stream_)); }
  ~Stream() { cudaStreamDestroy(stream_); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  cudaStream_t get() const { return stream_; }
  void synchronise() const { RETENSOR_CUDA_CHECK(cudaStreamSynchronize(stream_)); }

 private:
  cudaStream_t stream_ = nullptr;
};

class Event {
 public:
  Event() { RETENSOR_CUDA_CHECK(cudaEventCreate(&event_)); }
  ~Event() { cudaEventDestroy(event_); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  void record(cudaStream_t stream) { RETENSOR_CUDA_CHECK(cudaEventRecord(event_, stream)); }
  void synchronise() const { RETENSOR_CUDA_CHECK(cudaEventSynchronize(event_)); }
  /// Seconds from `earlier` to this event; both must have been reached.
  double seconds_since(const Event& earlier) const {
    float milliseconds = 0;
    RETENSOR_CUDA_CHECK(cudaEventElapsedTime(&milliseconds, earlier.event_, event_));
    return 1e-3 * static_cast<double>(milliseconds);
  }

 private:
  cudaEvent_t event_ = nullptr;
};

/// Bytes of shared memory that a block gets without asking, and asked for on every chip from sm_80
/// on: sm_86, sm_89 and sm_120 give least. Blocks of one size are held to these when they are
/// compiled.
inline constexpr Count kSharedUnasked = 48 << 10, kSharedOfEveryChip = 99 << 10;

/// Blocks of `block` threads that cover `work` items, at most `limit` (for grid-stride loops).
inline unsigned blocks_for(Count work, unsigned block, Count limit = (1U << 31) - 1) {
  const Count needed = work / block + (work % block != 0 ? 1 : 0);
  return static_cast<unsigned>(needed < 1 ? 1 : needed < limit ? needed : limit);
}

}  // namespace retensor::device
