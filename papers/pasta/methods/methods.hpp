// The suite's methods, and what they share.
#pragma once

#include <vector>

#include "common/measure/method_spec.hpp"

namespace retensor::pasta {

MethodSpec make_coo_cpu();
MethodSpec make_hicoo_cpu();
MethodSpec make_coo_cuda();
MethodSpec make_hicoo_cuda();
MethodSpec make_coo_cuda_tuned();

inline const std::vector<Operation> kSuite = {Operation::tew, Operation::ts, Operation::ttv,
                                              Operation::ttm, Operation::mttkrp};
/// Whether a problem of the suite has a result that coordinates can hold.
Support supports_suite(const Problem& problem, const Params& params);
/// The parameter `block` of the HiCOO methods, the block edge B, and whether it is one.
ParamSpec block_param();
Support supports_hicoo(const Problem& problem, const Params& params);

}  // namespace retensor::pasta
