// Runs back to back: what a run takes where nobody waits for the one before.
#pragma once

#include "common/measure/timing.hpp"

namespace retensor {

struct BatchTime {
  int runs = 0;
  double seconds = 0;  ///< of all runs together, without a look at the clock between them
};

/// Prepares the trial once more, runs it once, then `runs` times between one start and one end of
/// the timer; fewer times where a timer can't hold their stages. Throws what the method throws.
BatchTime time_in_batch(const Trial& trial, int runs);

}  // namespace retensor
