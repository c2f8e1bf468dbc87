// What the methods of the device share whose tensor lies in CSF (B-CSF, FWC, MM-CSF).
#pragma once

#include <utility>

#include "common/formats/csf.hpp"
#include "common/method/method_spec.hpp"

namespace retensor {

inline ParamSpec fiber_limit_param() {
  return param("fiber_limit", kFiberLimit, "nonzeros at which a fiber is cut").range(1, 1 << 30);
}

inline Support supports_csf(const Problem& problem, const Params&) {
  if (problem.x().order() < 2) return Support::no("a tensor of order 1 has no fibers");
  return Support::yes();
}

/// MTTKRP of a mode where a method states no other operations.
inline MethodSpec csf_method(MethodSpec own) {
  return with_shared({Operation::mttkrp}, supports_csf, std::move(own));
}

}  // namespace retensor
