// The contract of variants of one method side by side: what was prepared with other parameters, or
// is prepared again, leaves a run as it is. A kernel that is given shared memory by each
// preparation is the fault that this finds.
#pragma once

#include <vector>

#include "common/method/method.hpp"
#include "tests/contract/battery.hpp"

namespace retensor::contract {

/// Prepares all settings() of a method for one tensor of order 3, of order 2 for SpMM, then each in
/// turn with the default's once more, after which the earlier of the two is run and checked. Of
/// MTTKRP, TTM, the TTM-chain, contraction and SpMM, in single precision. Settings that decline are
/// left out.
Report run_variants(const std::vector<const Method*>& methods);

}  // namespace retensor::contract
