// The result of a contraction on the device. Included by .cu files alone.
#pragma once

#include <vector>

#include "common/tensor/coo.hpp"
#include "papers/bcb_sptc/format/room.hpp"
#include "papers/bcb_sptc/format/tools_device.cuh"

namespace retensor::bcb_sptc {

/// The room of a device.
Room device_room(double gib = 0);

/// The result in coordinates.
struct DeviceResult {
  Dims dims;
  Count entries = 0;
  std::vector<Buffer<Index>> indices;  ///< by mode, none before make_room
  Buffer<float> values;

  /// Throws InputError for 2^32 and more entries, OutOfMemory for more than there is room for.
  void make_room(Count n, const Room& room);
  Count bytes() const;
  Coo to_coo() const;
};

/// Moves the entries whose value is not zero to arrays of their own, in order (Algorithm 1, line
/// 11).
class ZeroFilter {
 public:
  /// Allocates when called for the first time only.
  void run(const DeviceResult& from, const Room& room, cudaStream_t stream);
  Count bytes() const { return kept_.bytes() + filtered_.bytes() + cub_.bytes(); }
  /// What the last run left.
  const DeviceResult& filtered();

 private:
  Cub cub_;
  Buffer<Count> found_;
  Buffer<std::uint32_t> kept_;
  DeviceResult filtered_;
};

}  // namespace retensor::bcb_sptc
