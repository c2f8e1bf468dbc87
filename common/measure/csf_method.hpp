// What the methods of the device share whose tensor lies in CSF (B-CSF, MM-CSF).
#pragma once

#include "common/formats/csf.hpp"
#include "common/measure/cuda_method.hpp"

namespace retensor {

/// MTTKRP on trees whose long fibers are cut. A method that takes all modes as one takes a mode
/// alone too.
class CsfMethod : public CudaMethod {
 protected:
  static ParamSpec fiber_limit() {
    return {"fiber_limit",
            static_cast<std::int64_t>(kFiberLimit),
            "nonzeros at which a fiber is cut",
            1,
            1 << 30,
            {}};
  }
  Support supports_problem(const Problem& problem, const Params&) const override {
    const Operation op = problem.operation();
    if (op != Operation::mttkrp && !(op == Operation::mttkrp_all && takes_all_modes()))
      return Support::no("only MTTKRP is compared");
    if (problem.x().order() < 2) return Support::no("a tensor of order 1 has no fibers");
    return Support::yes();
  }
};

}  // namespace retensor
