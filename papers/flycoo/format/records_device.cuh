// Records on the device, and the proof that they are back in mode 0's order after a run. Included
// by .cu files alone.
#pragma once

#include <cstdint>
#include <span>
#include <utility>

#include "common/core/rng.hpp"
#include "common/device/cuda.cuh"
#include "papers/flycoo/format/loops_device.cuh"

namespace retensor::flycoo {

/// Zeros for records of so many words, with 4 more for kernels that read whole 16 bytes.
inline device::Buffer<std::uint32_t> zero_records(Count words) {
  device::Buffer<std::uint32_t> records(words + 4);
  records.zero(nullptr);
  return records;
}

inline device::Buffer<std::uint32_t> upload_records(std::span<const std::uint32_t> records) {
  auto copy = zero_records(records.size());
  copy.upload(records);
  return copy;
}

/// A number that any change of a word, or of the order of words, alters but for one case in 2^64.
inline unsigned long long fingerprint(const device::Buffer<std::uint32_t>& records) {
  device::Buffer<unsigned long long> sum(1);
  sum.zero(nullptr);
  const std::uint32_t* const words = records.data();
  add_each(
      records.size(),
      [=] __device__(Count i) -> unsigned long long { return CounterRng(words[i]).bits(i); },
      sum.data());
  return sum.to_host().front();
}

/// The copies T_in and T_out of Algorithm 5.
class Copies {
 public:
  explicit Copies(device::Buffer<std::uint32_t> records)
      : in_(std::move(records)), out_(in_.size()), start_(fingerprint(in_)) {
    out_.zero(nullptr);
  }
  const std::uint32_t* in() const { return in_.data(); }
  std::uint32_t* out() { return out_.data(); }
  void swap() { std::swap(in_, out_); }
  Count bytes() const { return in_.bytes() + out_.bytes(); }
  /// Throws LogicError unless T_in has the records that it had at first.
  void check_back() const {
    if (fingerprint(in_) != start_)
      throw LogicError("after the last mode the tensor is not in mode 0's order again");
  }

 private:
  device::Buffer<std::uint32_t> in_, out_;
  unsigned long long start_;
};

}  // namespace retensor::flycoo
