// MTTKRP over all modes by any method: one that has no run of its own for it runs mode by mode.
#pragma once

#include <memory>

#include "common/method/method.hpp"

namespace retensor {

/// As Method::supports; of MTTKRP over all modes a method for single modes must support every mode.
Support supports(const Method& method, const Problem& problem, const Params& params);
/// The same of Method::solves: on a machine that can run the method.
Support solves(const Method& method, const Problem& problem, const Params& params);

/// As Method::prepare; of MTTKRP over all modes a method for single modes is prepared once a mode,
/// which `executed` says, and has passes. Stages of equal name add up over the modes.
std::unique_ptr<Prepared> prepare(const Method& method, const Problem& problem,
                                  const Params& params);

}  // namespace retensor
