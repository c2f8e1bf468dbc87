// What the runs of this module on the device share: passes in turn.
#pragma once

#include <span>
#include <string>

#include "common/run/modes_run.cuh"

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

}  // namespace retensor::flycoo
