// A tensor in coordinate form on the device, of which formats are made there, and the time that
// making one takes. Included by .cu files alone.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "common/device/cuda.cuh"
#include "common/method/method.hpp"
#include "common/tensor/coo.hpp"

namespace retensor {

struct DeviceCoo {
  explicit DeviceCoo(const Coo& x) : dims(x.dims), dtype(x.dtype()), nnz(x.nnz()) {
    for (const auto& index : x.indices) indices.emplace_back(index);
    dispatch(dtype, [&]<class T>() {
      bytes = device::Buffer<std::byte>(std::as_bytes(std::span(x.values.as<T>())));
    });
  }

  /// The values in single precision; throws LogicError for double.
  const float* floats() const {
    if (dtype != DType::f32) throw LogicError("found values in double precision, expected single");
    return reinterpret_cast<const float*>(bytes.data());
  }

  Dims dims;
  DType dtype;
  Count nnz;
  std::vector<device::Buffer<Index>> indices;  ///< by mode
  device::Buffer<std::byte> bytes;             ///< of the values
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

}  // namespace retensor
