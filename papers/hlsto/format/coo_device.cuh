// A tensor in coordinate form on the device, of which HLS is made there. Included by .cu files
// alone.
#pragma once

#include <string>
#include <vector>

#include "common/device/cuda.cuh"
#include "common/method/method.hpp"
#include "common/tensor/coo.hpp"

namespace retensor::hlsto {

struct DeviceCoo {
  /// Throws LogicError for double precision.
  explicit DeviceCoo(const Coo& x) : dims(x.dims), nnz(x.nnz()), values(x.values.as<float>()) {
    for (const auto& index : x.indices) indices.emplace_back(index);
  }

  Dims dims;
  Count nnz;
  std::vector<device::Buffer<Index>> indices;  ///< by mode
  device::Buffer<float> values;
};

/// make(x on the device). `facts` tell the milliseconds of `make` between CUDA events: allocations
/// count, the upload does not.
template <class Make>
auto made_on_device(const Coo& x, Executed& facts, Make&& make) {
  const DeviceCoo coordinates(x);
  device::Event begin, end;
  begin.record(nullptr);
  auto made = make(coordinates);
  end.record(nullptr);
  end.synchronise();
  facts["prepared"] = "on the device";
  facts["prepare_device_ms"] = std::to_string(1e3 * end.seconds_since(begin));
  return made;
}

}  // namespace retensor::hlsto
