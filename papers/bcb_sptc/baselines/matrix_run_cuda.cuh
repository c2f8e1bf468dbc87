// Base of the competitors' runs on a GPU: the operands as compressed rows, the result in
// coordinates. Included by .cu files alone.
#pragma once

#include <string>
#include <utility>

#include "common/run/cuda_run.cuh"
#include "papers/bcb_sptc/format/matricised_device.cuh"

namespace retensor::bcb_sptc {

class MatrixRun : public CudaRun {
 public:
  MatrixRun(const Problem& problem, std::string kernel)
      : CudaRun(problem, std::move(kernel)),
        m_(matricised(problem)),
        alpha_(static_cast<float>(problem.spec().alpha)) {
    result_.dims = m_.modes.result_dims(problem.x().dims, problem.y().dims);
    executed_["rows"] = std::to_string(m_.rows);
    executed_["columns"] = std::to_string(m_.columns);
    executed_["products"] = std::to_string(m_.products);
  }

  Result result() override { return result_.to_coo(); }
  Footprint footprint() const override {
    return {format_bytes(), format_bytes() + work_bytes() + result_.bytes()};
  }

 protected:
  virtual Count format_bytes() const { return m_.bytes(); }
  /// Lists, tables and scratch beside format and result.
  virtual Count work_bytes() const = 0;
  /// Room for the result, whose coordinates then are entry_modes().
  void make_room(Count entries) {
    result_.make_room(entries, device_room());
    entry_modes_ = m_.entry_modes(result_);
    executed_["result_nonzeros"] = std::to_string(entries);
  }

  const DeviceMatricised m_;
  const float alpha_;
  DeviceResult result_;
  EntryModes entry_modes_{};
};

}  // namespace retensor::bcb_sptc
