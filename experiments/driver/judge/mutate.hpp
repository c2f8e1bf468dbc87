// Whether a verdict could have gone the other way: the rows of a claim are changed as a wrong
// kernel or an untrue statement would change them, and the claim is judged again.
#pragma once

#include <optional>
#include <string>

#include "experiments/driver/judge/claims.hpp"
#include "experiments/driver/judge/verdict.hpp"

namespace retensor::driver {

/// A change of the rows that turns a verdict.
struct Turn {
  std::string change;  ///< in words, with its factor
  double factor = 0;   ///< the least that turns it; 0: the change has no size
};

/// The nearest change that turns a verdict which holds; none where the verdict does not hold or
/// where nothing turns it. Times are multiplied and divided by up to 4, bytes and other quantities
/// by up to 2, errors multiplied by up to 1000, counts are one off, results are wrong and methods
/// swapped: in all rows of a part of the query, or in those of one data set. What a row only
/// repeats from its spec, its machine or a formula stays as it is.
std::optional<Turn> nearest_turn(const Claim& claim, const Verdict& verdict);

}  // namespace retensor::driver
