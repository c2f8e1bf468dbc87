// What the ceilings of host and device share: a probe is tried several times and its best rate
// kept, and of several probes of the same kind the best.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "common/machine/ceilings.hpp"

namespace retensor {

/// Fewest tries of a probe, however long one takes.
inline constexpr int kFewestTries = 3;

/// Best of repeated tries in units of 1e9 a second. `attempt()` returns {amount, seconds}; a first
/// one is not counted. Tries until `budget` seconds are spent.
template <class Attempt>
double best_rate(double budget, Attempt&& attempt) {
  attempt();
  double best = 0, spent = 0;
  for (int tries = 0; tries < kFewestTries || spent < budget; ++tries) {
    const auto [amount, seconds] = attempt();
    best = std::max(best, 1e-9 * amount / seconds);
    spent += seconds;
  }
  return best;
}

/// Enters `c` unless a better value of the same kind stands in the list.
inline void keep_best(std::vector<Ceiling>& list, Ceiling c) {
  const auto at = std::find_if(list.begin(), list.end(),
                               [&c](const Ceiling& other) { return other.what == c.what; });
  if (at == list.end())
    list.push_back(std::move(c));
  else if (at->value < c.value)
    *at = std::move(c);
}

}  // namespace retensor
