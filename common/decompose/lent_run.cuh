// The device memory of a run that takes passes over all modes, for those who write factors and read
// results there in place of the host. Included by .cu files alone.
#pragma once

#include "common/run/modes_run.cuh"

namespace retensor {

/// What a CudaModesRun has for those who derive from it, of any such run.
template <class T>
class LentRun : private CudaModesRun<T> {
  using Run = CudaModesRun<T>;

 public:
  /// Null where the method's runs are of another kind.
  static Run* of(Prepared& run) { return dynamic_cast<Run*>(&run); }
  /// Elements between the rows of factors and results.
  static unsigned stride(const Run& run) { return run.*(&LentRun::stride_); }
  /// The factor of a mode that the passes over the others gather.
  static T* factor(Run& run, int mode) {
    return (run.*(&LentRun::factors_))[static_cast<std::size_t>(mode)].data();
  }
  /// What the pass over a mode left.
  static const T* left_by(Run& run, int mode) { return (run.*(&LentRun::rows_of))(mode); }
};

}  // namespace retensor
