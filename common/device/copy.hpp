// Memory of the device for callers that have arrays there already.
#pragma once

#include <cstddef>

namespace retensor::device {

/// Copies between the host and memory of the current device; return when the bytes have been
/// copied. Throw DeviceError where a copy fails or the build has no CUDA.
void copy_to_host(void* host, const void* device, std::size_t bytes);
void copy_to_device(void* device, const void* host, std::size_t bytes);

/// Uninitialised device memory, to be given back by `release_bytes`. Throws OutOfMemory, and
/// DeviceError in a build without CUDA.
void* allocate_bytes(std::size_t bytes);
void release_bytes(void* device);

}  // namespace retensor::device
