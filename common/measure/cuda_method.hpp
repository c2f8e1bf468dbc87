// Base of the methods on the device: known to every build, so that a spec plans anywhere; without a
// device they decline with its reason.
#pragma once

#include "common/core/error.hpp"
#include "common/device/device.hpp"
#include "common/measure/method.hpp"

namespace retensor {

/// What `prepare` of a CUDA method does in a build without CUDA, where `supports` has declined.
[[noreturn]] inline void no_cuda() {
  throw LogicError("a CUDA method was prepared in a build without CUDA");
}

class CudaMethod : public Method {
 public:
  Backend backend() const final { return Backend::cuda; }
  Support supports(const Problem& problem, const Params& params) const final {
    if (const auto own = supports_problem(problem, params); !own.ok) return own;
    const auto device = device::available();
    return device.ok ? Support::yes() : Support::no(device.reason);
  }

 private:
  /// Whether the method solves the problem where there is a device.
  virtual Support supports_problem(const Problem& problem, const Params& params) const = 0;
};

}  // namespace retensor
