// Records on the device, and those of a run, which come back to mode 0's order. Included by .cu
// files alone.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "common/device/cuda.cuh"

namespace retensor::flycoo {

using RecordBuffer = device::Buffer<std::uint32_t>;

template <class Buffers>
Count bytes_of(const Buffers& all) {
  Count total = 0;
  for (const auto& one : all) total += one.bytes();
  return total;
}

/// Zeros for records of so many words, with 4 more for kernels that read whole 16 bytes.
RecordBuffer zero_records(Count words);
RecordBuffer upload_records(std::span<const std::uint32_t> records);

/// The records of a run: T_in and T_out of Algorithm 5, or a copy in the order of each mode.
class RunRecords {
 public:
  /// `copies`: those in mode 0's order alone, which are remapped, or one of each mode.
  RunRecords(std::vector<RecordBuffer> copies, int order);
  bool remapped() const { return out_.size() > 0; }
  /// What the pass over a mode reads; throws LogicError unless modes are taken in turn from 0.
  const std::uint32_t* in(int mode) const;
  /// What it writes; nullptr without remapping.
  std::uint32_t* out() { return out_.data(); }
  void end_pass();
  Count bytes() const { return out_.bytes() + bytes_of(copies_); }
  /// Throws LogicError unless T_in has the records that it had at first.
  void check_back() const;

 private:
  std::vector<RecordBuffer> copies_;  // T_in, or one a mode
  RecordBuffer out_;
  unsigned long long start_ = 0;
  const int order_;
  int next_ = 0;  // the mode whose turn it is
};

}  // namespace retensor::flycoo
