// How much longer the planner's choices take than the best ones: the judgement of a model.
#pragma once

#include <string>
#include <vector>

#include "common/advise/experience.hpp"

namespace retensor::advise {

/// Regrets are ratios of times, at least 1.
struct Regret {
  double mean = 1;  ///< geometric
  double most = 1;
  int above_two = 0;
};

/// A problem whose choice, with a trial, takes more than twice as long as the best.
struct SlowChoice {
  std::string data, taken, best;  ///< candidates in words
  double ratio = 1;
  double preparing = 0;  ///< share of its time that preparations and the trial take
  std::string cause;     ///< the forecast that was most seconds off: "its preparation, 4.8x"
};

/// Of the problems of an operation on a device, or of all.
struct RegretLine {
  std::string device, operation;  ///< empty: all
  bool only_real = false;         ///< of all, the real tensors alone
  double calls = 1;
  int problems = 0;  ///< with at least two measured candidates, one of them offered
  int refused = 0;   ///< those where nothing is offered without the family
  int outside = 0;   ///< of `problems` those unlike all other families, chosen with more caution
  Regret predicted;  ///< of the choice by the model alone
  Regret tried;      ///< with a trial of close calls, whose time counts
  /// Problems whose choice, its preparation and calls without what else the trial took, takes
  /// longer than the best of all forms of the libraries (cuBLAS, cuSPARSE, Sputnik), and those of
  /// them where another method was taken in their place.
  int behind_libraries = 0, in_their_place = 0;
  std::string worst;  ///< the problem of predicted.most: what was taken, and what was best
  std::vector<SlowChoice> slow;  ///< those of tried.above_two
};

/// What the choices would have cost had the model not seen the family of each tensor in turn: a
/// line per operation, device and number of calls, then for each number of calls
/// one for all and one for all on real tensors. The
/// best is the least total time of all that was measured on the problem. With `rounding`,
/// candidates that round their operands count too.
std::vector<RegretLine> regrets(const Experience& seen, const std::vector<double>& calls,
                                bool rounding);
/// The same of a model that was taught by another table of the same problems and candidates.
std::vector<RegretLine> regrets(const Experience& seen, const Experience& taught,
                                const std::vector<double>& calls, bool rounding);

}  // namespace retensor::advise
