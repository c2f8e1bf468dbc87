// Uploads by way of pinned memory, into which all threads copy while the copy engine moves what was
// copied before: of pageable memory the driver copies with one thread. Included by .cu files alone.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

#include "common/device/cuda.cuh"

namespace retensor::device {

/// Pinned memory that the process keeps: kStagingPieces of kStagingBytes. On a machine with 16
/// cores pieces of 4 MiB took 1.5 ms for 66 MB, of 1 MiB 1.7, of 256 KiB 2.7 (pageable 9.5).
inline constexpr std::size_t kStagingBytes = 4 << 20;
inline constexpr unsigned kStagingPieces = 4;

class Staging {
 public:
  using Copy = void (*)(void* to, const void* from, std::size_t bytes);
  explicit Staging(Copy copy) : copy_(copy), memory_(pinned()) {}
  /// Waits until nothing is read from the pinned memory any more.
  ~Staging() { cudaStreamSynchronize(nullptr); }
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  /// Copies to the device, ordered on the default stream.
  void upload(void* to, std::span<const std::byte> from) {
    while (!from.empty()) {
      const std::size_t bytes = std::min(from.size(), kStagingBytes);
      std::byte* const piece = memory_ + next_ * kStagingBytes;
      free_[next_].synchronise();
      copy_(piece, from.data(), bytes);
      RETENSOR_CUDA_CHECK(cudaMemcpyAsync(to, piece, bytes, cudaMemcpyHostToDevice, nullptr));
      free_[next_].record(nullptr);
      next_ = (next_ + 1) % kStagingPieces;
      to = static_cast<std::byte*>(to) + bytes;
      from = from.subspan(bytes);
    }
  }

 private:
  /// Lives as long as the process: the driver may be gone when statics end.
  static std::byte* pinned() {
    static std::byte* const memory = [] {
      void* host = nullptr;
      RETENSOR_CUDA_CHECK(
          cudaHostAlloc(&host, kStagingPieces * kStagingBytes, cudaHostAllocPortable));
      return static_cast<std::byte*>(host);
    }();
    return memory;
  }

  const Copy copy_;
  std::byte* const memory_;
  Event free_[kStagingPieces];
  unsigned next_ = 0;
};

}  // namespace retensor::device
