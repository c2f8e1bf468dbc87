// The format of flycoo.hpp on the device: uploaded, or made there. Included by .cu files alone.
#pragma once

#include <cstdint>
#include <vector>

#include "common/device/cuda.cuh"
#include "papers/flycoo/format/coo_device.cuh"
#include "papers/flycoo/format/flycoo.hpp"
#include "papers/flycoo/format/records_device.cuh"

namespace retensor::flycoo {

/// Flycoo on the device; records are padded as upload_records does.
struct DeviceFlycoo : FlycooShape {
  RecordBuffer records;
  std::vector<device::Buffer<std::uint32_t>> streams;
  std::vector<device::Buffer<Count>> start;  ///< of the partitions, by mode
  /// Stream of a mode; nullptr where ids stand in the records.
  const std::uint32_t* stream(int mode) const {
    return streams.empty() ? nullptr : streams[static_cast<std::size_t>(mode)].data();
  }
  Count bytes() const { return records.bytes() + bytes_of(streams) + bytes_of(start); }
};

DeviceFlycoo upload(const Flycoo& tensor);

/// The format that to_flycoo gives the same tensor on the host. Nonzeros are counted and sorted on
/// the device; indices are assigned to partitions on the host, to which their counts go. Throws as
/// to_flycoo does, InputError for 2^32 nonzeros and more, and OutOfMemory where the device has less
/// free than the format and 16 bytes a nonzero.
DeviceFlycoo to_flycoo(const DeviceCoo& tensor, const Options& options);

/// Algorithm 3 for all nonzeros, as on the host.
void remap(const DeviceFlycoo& tensor, int mode, const std::uint32_t* in, std::uint32_t* out);

}  // namespace retensor::flycoo
