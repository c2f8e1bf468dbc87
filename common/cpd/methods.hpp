// CP-ALS as methods of the registry.
#pragma once

#include <memory>

#include "common/measure/registry.hpp"

namespace retensor::cpd {

/// cpd.cpu.als or cpd.cuda.als: the sweeps of als.hpp with the MTTKRP of a method that runs on that
/// backend, which its parameter `mttkrp` names; solves run on the host. `methods` gives the
/// registry to choose from.
std::unique_ptr<Method> make_als(Backend backend, Registry (*methods)());

}  // namespace retensor::cpd
