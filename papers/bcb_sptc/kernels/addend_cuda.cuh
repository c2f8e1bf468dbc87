// The sum of addend_cpu.hpp on the device. Included by .cu files alone.
//
// Every entry of the product and of Z has its coordinate as one key of 64 or 128 bits; CUB sorts
// the keys with the positions beside them, stably, so that equal coordinates are neighbours, the
// product's entry first. Of the sorted keys those that begin a coordinate are selected, a thread
// adds up the values of each and takes the coordinate from its key.
//
// Bytes, keys of b bits in 8 (16): an entry 4 d + 12 (20) of its key and position, 24 (40) in each
// pass of the sort, a pass 8 bits, 12 (20) of the selection and 8 of values gathered; a result
// entry 12 (20) + 4 d + 4.
#pragma once

#include <memory>

#include "papers/bcb_sptc/format/result_device.cuh"
#include "papers/bcb_sptc/kernels/addend_cpu.hpp"

namespace retensor::bcb_sptc {

class DeviceSum {
 public:
  virtual ~DeviceSum() = default;
  /// Allocates when called for the first time only, which waits for the device to learn how many
  /// entries there are.
  virtual void run(const DeviceResult& product, cudaStream_t stream) = 0;
  virtual Count bytes() const = 0;  ///< Z, keys, scratch
  const DeviceResult& sum() const { return sum_; }

 protected:
  DeviceResult sum_;
};

/// Copies Z to the device. Throws InputError as check_addend does.
std::unique_ptr<DeviceSum> make_device_sum(const Addend& addend, const Dims& result_dims,
                                           Count product_entries, const Room& room);

}  // namespace retensor::bcb_sptc
