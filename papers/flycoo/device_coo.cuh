// A tensor in coordinate form on the device, of which formats are made there. Included by .cu files
// alone.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "common/device/cuda.cuh"
#include "common/measure/method.hpp"
#include "common/tensor/coo.hpp"

namespace retensor::flycoo {

struct DeviceCoo {
  explicit DeviceCoo(const Coo& x) : dims(x.dims), dtype(x.dtype()), nnz(x.nnz()) {
    for (const auto& index : x.indices) indices.emplace_back(index);
    dispatch(dtype, [&]<class T>() {
      const auto all = x.values.as<T>();
      const auto* const words = reinterpret_cast<const std::uint32_t*>(all.data());
      values = device::Buffer<std::uint32_t>(std::span(words, all.size() * sizeof(T) / 4));
    });
  }

  Dims dims;
  DType dtype;
  Count nnz;
  std::vector<device::Buffer<Index>> indices;  ///< by mode
  device::Buffer<std::uint32_t> values;  ///< in words: 1 each in single precision, 2 in double
};

/// The indices of all modes, for kernels.
struct ModeIndices {
  ModeIndices(const DeviceCoo& x) {
    for (std::size_t m = 0; m < x.indices.size(); ++m) of[m] = x.indices[m].data();
  }
  const Index* of[kMaxOrder] = {};
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

}  // namespace retensor::flycoo
