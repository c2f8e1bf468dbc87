// The contract of MTTKRP a mode at a time: every method that takes MTTKRP, of one mode or of all,
// has passes, and each pass uses the factors as they are when it begins.
#pragma once

#include <vector>

#include "common/method/method.hpp"
#include "tests/contract/battery.hpp"

namespace retensor::contract {

/// Two turns over the modes of a tensor of order 3 and one of order 4 in both value types; after
/// each pass its mode's factor changes, as in CP-ALS. Methods that decline are left out of
/// `solved`.
Report run_passes(const std::vector<const Method*>& methods);

}  // namespace retensor::contract
