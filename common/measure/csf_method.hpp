// What the methods of the device share whose tensor lies in CSF (B-CSF, FWC, MM-CSF).
#pragma once

#include "common/formats/csf.hpp"
#include "common/measure/method.hpp"

namespace retensor {

inline ParamSpec fiber_limit_param() {
  return param("fiber_limit", kFiberLimit, "nonzeros at which a fiber is cut").range(1, 1 << 30);
}

inline Support supports_csf(const Problem& problem, const Params&) {
  if (problem.x().order() < 2) return Support::no("a tensor of order 1 has no fibers");
  return Support::yes();
}

}  // namespace retensor
