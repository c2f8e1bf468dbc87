// The device memory of runs that take passes over modes, for those who write factors and read
// results there in place of the host. Included by .cu files alone.
#pragma once

#include <memory>

#include "common/run/modes_run.cuh"

namespace retensor {

template <class T>
class LentRows {
 public:
  virtual ~LentRows() = default;
  /// Elements from a row to the next, of factors and results.
  virtual unsigned stride() const = 0;
  /// The factor of a mode that the passes over the others gather.
  virtual T* factor(int mode) = 0;
  /// What the pass over a mode left.
  virtual T* left_by(int mode) = 0;
};

/// The rows of a CudaModesRun, which keeps them for those who derive from it.
template <class T>
class RowsOfModes final : public LentRows<T> {
  using Run = CudaModesRun<T>;
  struct Members : Run {
    static constexpr auto stride = &Members::stride_;
    static constexpr auto factors = &Members::factors_;
    static constexpr auto rows_left_by = &Members::rows_of;
  };

 public:
  explicit RowsOfModes(Run& run) : run_(run) {}
  unsigned stride() const override { return run_.*Members::stride; }
  T* factor(int mode) override {
    return (run_.*Members::factors)[static_cast<std::size_t>(mode)].data();
  }
  T* left_by(int mode) override { return (run_.*Members::rows_left_by)(mode); }

 private:
  Run& run_;
};

/// What a run lends, valid as long as the run; null where it keeps its rows to itself.
template <class T>
std::shared_ptr<LentRows<T>> lent_rows(Prepared& run) {
  if (auto* const rows = dynamic_cast<LentRows<T>*>(&run)) return {std::shared_ptr<void>(), rows};
  if (auto* const modes = dynamic_cast<CudaModesRun<T>*>(&run))
    return std::make_shared<RowsOfModes<T>>(*modes);
  return nullptr;
}

}  // namespace retensor
