// A few runs of the candidates whose forecasts are too close to tell them apart.
#pragma once

#include <string>
#include <vector>

#include "common/advise/planner.hpp"

namespace retensor::advise {

/// Tries choices as trial() says, each by a preparation and runs_of_trial() runs whose results are
/// not checked, and puts the one of the least total time first; the times of all that were tried
/// are those measured. Returns the steps by the places before, none where no call was close. Throws
/// nothing that a method throws.
std::vector<Step> settle(Advice& advice, const Problem& problem, const Wish& wish);

/// A choice after its trial.
struct Settled {
  Choice choice;
  double seconds = 0;      ///< that the trial took
  std::string trial = "";  ///< what was tried and what came of it; empty for no trial
};

/// The first of advise_here() after settle().
Settled choose_by_trial(const Registry& registry, const Problem& problem,
                        const nlohmann::json& facts, const Wish& wish, const Allowed& allowed = {});

}  // namespace retensor::advise
