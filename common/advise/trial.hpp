// A few runs of the candidates whose forecasts are too close to tell them apart.
#pragma once

#include <string>
#include <vector>

#include "common/advise/planner.hpp"

namespace retensor::advise {

struct Tried {
  double prepare = 0, run = 0;  ///< seconds, of runs the median
  std::string failure;          ///< why it has no times
};

/// Prepares each choice and runs it kRunsOfTrial times; results are not checked. Throws nothing
/// that a method throws.
std::vector<Tried> try_out(const Problem& problem, const std::vector<Choice>& choices);

/// Tries the contenders of the advice and puts the one of the least total time first; its times are
/// those that were measured. Returns what was tried, none where the first had no contender.
std::vector<Tried> settle(Advice& advice, const Problem& problem, const Wish& wish);

}  // namespace retensor::advise
