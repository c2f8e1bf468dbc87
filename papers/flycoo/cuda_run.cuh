// What the runs of this module on the device share: passes in turn, the copies of the records, and
// the proof that the tensor is back in mode 0's order.
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "common/measure/modes_run.cuh"
#include "papers/flycoo/methods.hpp"

namespace retensor::flycoo {

/// Passes that move the tensor on from one mode's order to the next's.
template <class T>
class AllModesRun : public CudaModesRun<T> {
 public:
  using CudaModesRun<T>::CudaModesRun;

  Result result() final {
    check_finished();
    return CudaModesRun<T>::result();
  }

 protected:
  /// Throws LogicError unless the last run left everything as it found it.
  virtual void check_finished() const {}

 private:
  void run_modes(std::span<const int> modes, StageTimer& timer) final {
    if (modes.front() != next_)
      throw LogicError("a pass over mode " + std::to_string(modes.front()) +
                       ", but the tensor is in mode " + std::to_string(next_) + "'s order");
    CudaModesRun<T>::run_modes(modes, timer);
    next_ = (modes.back() + 1) % this->problem_.x().order();
  }

  int next_ = 0;
};

/// Records on the device, padded by zeros for kernels that read whole 16 bytes.
inline device::Buffer<std::uint32_t> upload_records(std::span<const std::uint32_t> records) {
  device::Buffer<std::uint32_t> copy(records.size() + 4);
  copy.zero(nullptr);
  copy.upload(records);
  return copy;
}

/// The copies T_in and T_out of Algorithm 5.
class Copies {
 public:
  explicit Copies(std::span<const std::uint32_t> records)
      : start_(records), in_(upload_records(records)), out_(upload_records(records)) {}
  const std::uint32_t* in() const { return in_.data(); }
  std::uint32_t* out() { return out_.data(); }
  void swap() { std::swap(in_, out_); }
  Count bytes() const { return in_.bytes() + out_.bytes(); }
  void check_back() const {
    std::vector<std::uint32_t> now(start_.size());
    in_.download(now);
    if (!std::equal(now.begin(), now.end(), start_.begin()))
      throw LogicError("after the last mode the tensor is not in mode 0's order again");
  }

 private:
  std::span<const std::uint32_t> start_;  // the format's, on the host
  device::Buffer<std::uint32_t> in_, out_;
};

}  // namespace retensor::flycoo
